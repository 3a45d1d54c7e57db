"""libsvmx"""
