class ScoreUpdates:
    in_double: bool
