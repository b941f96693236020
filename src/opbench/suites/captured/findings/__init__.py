"""What a capture and its replay say: where time goes, what would help, what a commit changed."""
