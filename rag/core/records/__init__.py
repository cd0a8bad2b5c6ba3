"""Records: values of documents by declared fields, and queries over them."""
