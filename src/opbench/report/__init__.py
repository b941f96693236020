"""What people and programs read: tables, pages and files made from stored results."""
