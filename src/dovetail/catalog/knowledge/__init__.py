"""What people wrote down elsewhere: a dbt project, past queries; kept beside the catalog."""
