CAUSES: dict[int, str]

class TextSlice:
    def count(self) -> None: ...
