"""What people see: HTML reports and the terminal."""
