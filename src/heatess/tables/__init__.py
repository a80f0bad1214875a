"""Named columns, what they mean, and the points they give: the same for files and for data frames."""
