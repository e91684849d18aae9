"""Writes static/hugo/i18n, the Hugo module's texts, from static/locales.

python config/hugo_i18n.py
"""

import json
from pathlib import Path

STATIC = Path(__file__).parent.parent / "static"


def files() -> dict[Path, str]:
    """Return what each file of static/hugo/i18n has to hold."""
    found = {}
    for path in sorted((STATIC / "locales").glob("*.json")):
        catalogue = json.loads(path.read_text("utf-8"))
        texts = catalogue["hugo"] | {"gone": catalogue["widget"]["gone"]}
        # A JSON string is a TOML string.
        lines = [
            f"commentsvc_{key} = {json.dumps(text, ensure_ascii=False)}\n"
            for key, text in texts.items()
        ]
        lines.append("\n[commentsvc_count]\n")
        lines += [
            f"{category} = {json.dumps(text.replace('#', '{{ .Count }}'), ensure_ascii=False)}\n"
            for category, text in catalogue["counts"].items()
        ]
        found[STATIC / "hugo" / "i18n" / f"{path.stem}.toml"] = "".join(lines)
    return found


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, "utf-8")
