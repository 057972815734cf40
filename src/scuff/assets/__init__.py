"""Pictures that come with the package."""
