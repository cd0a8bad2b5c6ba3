"""The steps from documents and questions to answers, for many questions or one."""
