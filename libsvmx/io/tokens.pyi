CAUSES: dict[int, str]
