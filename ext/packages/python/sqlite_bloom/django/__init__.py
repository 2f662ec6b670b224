"""An app for Django: INSTALLED_APPS = ["sqlite_bloom.django"]."""
