"""Write `python/varicap/scenario/__init__.py` and `docs/reference/scenario.md` from the JSON Schema of scenarios.

The schema comes from the Rust types (`make schema` writes it). A test fails when one of the three has drifted.
"""

import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema" / "scenario.schema.json"
STACKS = ROOT / "crates" / "varicap-tcp" / "src" / "stacks"
PYTHON = ROOT / "python" / "varicap" / "scenario" / "__init__.py"
REFERENCE = ROOT / "docs" / "reference" / "scenario.md"

WIDTH = 120
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
INHERITED = "Tcp"
"""What this table and those below it leave out comes from elsewhere: from the scenario's shared table, from the stack.

Their keys are None until they are given, since even a value that is the default of its type would come first.
"""

Json = dict[str, Any]


@dataclass
class Variant:
    """One name of a choice."""

    name: str
    text: str
    schema: Json | None
    """What it holds; nothing if the name says all."""


@dataclass
class Schema:
    """The definitions, by the names that Python and the reference give them."""

    root: Json
    definitions: dict[str, Json] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    """Struct to the name of the choice that it holds the parameters of."""

    def __post_init__(self) -> None:
        for name, definition in self.root["$defs"].items():
            assert class_name(name) not in self.definitions, name
            self.definitions[class_name(name)] = definition
        self.definitions["Scenario"] = {key: value for key, value in self.root.items() if key != "$defs"}
        for definition in self.definitions.values():
            for variant in variants(definition):
                if variant.schema is not None and "$ref" in variant.schema:
                    inner = self.reference(variant.schema)
                    if "properties" in self.definitions[inner]:
                        self.tags[inner] = variant.name

    @cached_property
    def inherited(self) -> set[str]:
        """The tables whose missing keys come from elsewhere."""
        found, below = {INHERITED}, [INHERITED]
        while below:
            below = [name for name in references(self.definitions[below.pop()]) if name not in found] + below
            found.update(below)
        return found

    @staticmethod
    def reference(schema: Json) -> str:
        """The name of the definition that `schema` refers to."""
        return class_name(schema["$ref"].removeprefix("#/$defs/"))

    def needs_nothing(self, variant: Variant) -> bool:
        """Whether the name alone is enough."""
        if variant.schema is None:
            return True
        return "$ref" in variant.schema and self.is_struct(variant) and not self.inner(variant).get("required")

    def is_struct(self, variant: Variant) -> bool:
        """Whether the variant holds a table of parameters."""
        return variant.schema is not None and "$ref" in variant.schema and "properties" in self.inner(variant)

    @cached_property
    def wrappers(self) -> dict[tuple[str, str], str]:
        """The class of each choice and name that holds a plain value.

        Where two choices give one name to values of different types, the second has its own name added.
        """
        found: dict[tuple[str, str], str] = {}
        holds: dict[str, str] = {}
        for choice in in_order(self):
            for variant in variants(self.definitions[choice]):
                if variant.schema is None or self.is_struct(variant):
                    continue
                name, kind = camel(variant.name), python_type(variant.schema)
                found[choice, variant.name] = name if holds.setdefault(name, kind) == kind else name + choice
        return found

    def inner(self, variant: Variant) -> Json:
        """The definition that the variant holds."""
        assert variant.schema is not None
        return self.definitions[self.reference(variant.schema)]


def class_name(name: str) -> str:
    """Rust's name without the word that tells a file's form from a value."""
    return name.removesuffix("Config")


def camel(name: str) -> str:
    """`slotted-markov` as `SlottedMarkov`."""
    return "".join(word.capitalize() for word in name.split("-"))


def variants(definition: Json) -> list[Variant]:
    """The names of a choice; none if the definition is no choice."""
    for option in definition.get("anyOf", []):
        if "oneOf" in option:
            return variants(option)
    found = []
    for option in definition.get("oneOf", []):
        if "const" in option:
            found.append(Variant(option["const"], option.get("description", ""), None))
        elif "enum" in option:
            found += [Variant(name, "", None) for name in option["enum"]]
        elif len(option.get("properties", {})) == 1:
            ((name, inner),) = option["properties"].items()
            found.append(Variant(name, option.get("description", ""), inner))
    return found


def shorthands(definition: Json) -> list[str]:
    """The types of values that stand for a choice without its name."""
    plain = [option for option in definition.get("anyOf", []) if "type" in option and "enum" not in option]
    kinds = [
        kind for option in plain for kind in ([option["type"]] if isinstance(option["type"], str) else option["type"])
    ]
    return kinds if variants(definition) else []


def is_nullable(schema: Json) -> bool:
    """Whether the key may be left out without a value in its place."""
    kind = schema.get("type")
    in_type = isinstance(kind, list) and "null" in kind
    return (
        in_type
        or any(option.get("type") == "null" for option in schema.get("anyOf", []))
        or ("default" in schema and schema["default"] is None)
    )


def without_null(schema: Json) -> Json:
    """What the key holds if it is there."""
    if isinstance(schema.get("type"), list):
        kinds = [kind for kind in schema["type"] if kind != "null"]
        return schema | {"type": kinds[0] if len(kinds) == 1 else kinds}
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    return options[0] if len(options) == 1 else schema


# --- Python ---------------------------------------------------------------------------------------------------------


def python_type(schema: Json) -> str:
    """The type of a key's value."""
    schema = without_null(schema)
    if "$ref" in schema:
        return Schema.reference(schema)
    match schema["type"]:
        case "array":
            return f"Sequence[{python_type(schema['items'])}]"
        case "object":
            return f"Mapping[str, {python_type(schema['additionalProperties'])}]"
        case kind:
            return SCALARS[kind]


def python_default(schemas: Schema, schema: Json) -> str | None:
    """The default of a key as Python; nothing if it must be given."""
    if is_nullable(schema):
        return "None"
    if "default" not in schema:
        return None
    return python_value(schemas, without_null(schema), schema["default"])


def python_value(schemas: Schema, schema: Json, value: Any) -> str:
    """A default as a Python expression."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    name = Schema.reference(schema)
    definition = schemas.definitions[name]
    for variant in variants(definition):
        if variant.name in value and variant.schema is not None:
            inner = value[variant.name]
            if not isinstance(inner, dict):
                return f"{schemas.wrappers[name, variant.name]}({inner!r})".replace("'", '"')
            return python_value(schemas, variant.schema, inner)
    given = {
        key: python_value(schemas, without_null(inner), value[key])
        for key, inner in definition["properties"].items()
        if key in value and value[key] is not None and value[key] != inner.get("default")
    }
    return f"{name}({', '.join(f'{key}={text}' for key, text in given.items())})"


def docstring(text: str, indent: str) -> Iterator[str]:
    """A docstring of one or more lines; the first is a sentence by itself."""
    text = " ".join(text.split()).replace("\\", "\\\\")
    if len(text) + len(indent) + 6 <= WIDTH:
        yield f'{indent}"""{text}"""'
        return
    first, stop, rest = text.partition(". ")
    yield from textwrap.wrap(f'"""{first}{stop}', WIDTH, initial_indent=indent, subsequent_indent=indent)
    if rest:
        yield ""
        yield from textwrap.wrap(rest, WIDTH, initial_indent=indent, subsequent_indent=indent)
    yield f'{indent}"""'


def python_struct(schemas: Schema, name: str) -> Iterator[str]:
    """A table as a dataclass."""
    definition = schemas.definitions[name]
    order = in_order(schemas)
    later = set(order[order.index(name) + 1 :])
    base = "ScenarioFile" if name == "Scenario" else "Part"
    yield "@dataclass(frozen=True, kw_only=True)"
    yield f"class {name}({base}):"
    text = definition["description"]
    if name in schemas.inherited:
        shared = (
            "as the scenario's `tcp` table says, or as its stack does" if name == INHERITED else "as the stack says"
        )
        text += f" A key that is None is {shared}, or has its default."
    yield from docstring(text, "    ")
    facts = []
    if name in schemas.tags:
        facts.append(f'    _tag: ClassVar[str] = "{schemas.tags[name]}"')
    if facts:
        yield from ("", *facts)
    yield ""
    for key, inner in definition["properties"].items():
        default = python_default(schemas, inner)
        if name in schemas.inherited and key not in definition.get("required", []):
            default = "None"
        kind = python_type(inner) + (" | None" if default == "None" else "")
        if later.intersection(references(inner)):
            kind = f'"{kind}"'
        attribute = f"{key}_" if key == "from" else key
        yield f"    {attribute}: {kind}" + (f" = {default}" if default is not None else "")
        yield from docstring(inner["description"], "    ")


def python_wrapper(variant: Variant, name: str) -> Iterator[str]:
    """A choice that holds a plain value, as a class of this name."""
    assert variant.schema is not None
    yield "@dataclass(frozen=True)"
    yield f"class {name}(Part):"
    yield from docstring(variant.text, "    ")
    yield ""
    yield f'    _tag: ClassVar[str] = "{variant.name}"'
    yield "    _bare: ClassVar[bool] = True"
    yield ""
    yield f"    value: {python_type(variant.schema)}"


def python_alias(name: str, kinds: list[str], text: str) -> Iterator[str]:
    """A name for a union of types."""
    line = f"{name}: TypeAlias = {' | '.join(kinds)}"
    if len(line) <= WIDTH:
        yield line
    else:
        # As the formatter has it: in one line within the parentheses if that fits, else a line each, and so for names.
        inside = f"    {' | '.join(kinds)}"
        each = [f"    {'| ' if place else ''}{kind}" for place, kind in enumerate(kinds)]
        yield f"{name}: TypeAlias = ("
        yield from [inside] if len(inside) <= WIDTH else (part for line in each for part in spread(line))
        yield ")"
    yield from docstring(text, "")


def spread(line: str) -> Iterator[str]:
    """A line with a type, and texts that are too many for it in lines of their own."""
    if len(line) <= WIDTH:
        yield line
        return
    before, texts = line.removesuffix("]").split("[")
    indent = " " * (len(before) - len(before.lstrip()))
    yield f"{before}["
    yield from (f"{indent}    {text}," for text in texts.split(", "))
    yield f"{indent}]"


def literal(names: list[str]) -> str:
    """The type of some texts."""
    return f"Literal[{', '.join(json.dumps(name) for name in names)}]"


def python_definition(schemas: Schema, name: str) -> Iterator[list[str]]:
    """The blocks of code of one definition."""
    definition = schemas.definitions[name]
    options = variants(definition)
    if "properties" in definition:
        yield list(python_struct(schemas, name))
    elif options:
        wrappers = [option for option in options if option.schema is not None and not schemas.is_struct(option)]
        yield from (list(python_wrapper(option, schemas.wrappers[name, option.name])) for option in wrappers)
        plain = [SCALARS[kind] for kind in shorthands(definition)]
        alone = [option.name for option in options if schemas.needs_nothing(option)]
        if alone and "str" not in plain:
            plain.append(literal(alone))
        classes = [
            schemas.wrappers[name, option.name] if option in wrappers else Schema.reference(option.schema)
            for option in options
            if option.schema is not None
        ]
        yield list(python_alias(name, plain + classes, definition["description"]))
    else:
        kinds = [option["type"] for option in definition.get("anyOf", [])] or [definition["type"]]
        text = definition["description"]
        yield list(python_alias(name, [SCALARS[kind] for kind in kinds], text[0].upper() + text[1:] + "."))


def references(schema: Any) -> Iterator[str]:
    """The definitions that a schema refers to."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield Schema.reference(schema)
        for inner in schema.values():
            yield from references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from references(inner)


def in_order(schemas: Schema) -> list[str]:
    """Each definition after those that it needs, unless they need it in turn."""
    order: list[str] = []
    begun: set[str] = set()

    def visit(name: str) -> None:
        begun.add(name)
        for needed in references(schemas.definitions[name]):
            if needed not in begun:
                visit(needed)
        if name not in order:
            order.append(name)

    visit("Scenario")
    return order


def by_need(schemas: Schema) -> list[str]:
    """The scenario, then what it needs, then what that needs; quantities last."""
    order = ["Scenario"]
    for name in order:
        order += dict.fromkeys(needed for needed in references(schemas.definitions[name]) if needed not in order)
    quantities = [
        name for name in order if not ("properties" in schemas.definitions[name] or variants(schemas.definitions[name]))
    ]
    return [name for name in order if name not in quantities] + quantities


PREAMBLE = '''"""A scenario as typed values: `Scenario(duration="60 s", topology=Dumbbell(…), flows={"reno": Flow(…)})`.

Written by tools/generate_scenario.py from schema/scenario.schema.json; changes here are lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from varicap.scenario.part import Part, ScenarioFile
'''


def python_module(schemas: Schema) -> str:
    """The text of `python/varicap/scenario/__init__.py`."""
    blocks: list[list[str]] = []
    for name in in_order(schemas):
        # Two choices may hold the same value under the same name.
        blocks += [block for block in python_definition(schemas, name) if block not in blocks]
    lines = [PREAMBLE]
    previous_is_class = True
    for block in blocks:
        is_class = block[0].startswith("@")
        # Two blank lines around a class, one between aliases: as the formatter wants it.
        lines += [""] * (2 if (is_class or previous_is_class) and len(lines) > 1 else 1 if len(lines) > 1 else 0)
        lines += block
        previous_is_class = is_class
    return "\n".join(lines) + "\n"


# --- The reference page ---------------------------------------------------------------------------------------------


def reference_type(schemas: Schema, schema: Json) -> str:
    """The type of a key's value in words, with a link."""
    schema = without_null(schema)
    if "$ref" in schema:
        name = Schema.reference(schema)
        return f"[{words(name)}](#{anchor(name)})"
    match schema["type"]:
        case "array":
            return f"list of {reference_type(schemas, schema['items'])}"
        case "object":
            return f"table of {reference_type(schemas, schema['additionalProperties'])}"
        case kind:
            return {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}[kind]


def words(name: str) -> str:
    """`DropTail` as `drop tail`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def anchor(name: str) -> str:
    """Where the reference describes a definition."""
    return words(name).replace(" ", "-")


def cell(text: str) -> str:
    """A text that fits a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def reference_struct(schemas: Schema, definition: Json) -> Iterator[str]:
    """The keys of a table."""
    yield "| key | type | meaning |"
    yield "|---|---|---|"
    required = definition.get("required", [])
    for key, inner in definition["properties"].items():
        must = " (required)" if key in required else ""
        yield f"| `{key}`{must} | {reference_type(schemas, inner)} | {cell(inner['description'])} |"


def reference_choice(schemas: Schema, options: list[Variant]) -> Iterator[str]:
    """The names of a choice."""
    yield "| name | parameters | meaning |"
    yield "|---|---|---|"
    for option in options:
        parameters = "none" if option.schema is None else reference_type(schemas, option.schema)
        yield f"| `{option.name}` | {parameters} | {cell(option.text)} |"


REFERENCE_PREAMBLE = """<!-- Written by tools/generate_scenario.py from the JSON Schema; changes here are lost. -->

# Scenario files

A scenario is a TOML file (or JSON of the same shape). Quantities carry their unit; a bare number is refused where a
unit is due. A *choice* is written as a name, `queue = "red"`, or as a table that sets its parameters,
`queue = { red = { min_threshold = "5 packets" } }`. `varicap run FILE --explain` prints every value, given or default;
`--set topology.dumbbell.forward.delay="20 ms"` changes one.
"""


def reference_page(schemas: Schema) -> str:
    """The text of `docs/reference/scenario.md`."""
    lines = [REFERENCE_PREAMBLE]
    for name in by_need(schemas):
        definition = schemas.definitions[name]
        text = cell(definition["description"])
        lines += [
            f"({anchor(name)})=",
            f"## {words(name).capitalize()}",
            "",
            text[0].upper() + text[1:].rstrip(".") + ".",
            "",
        ]
        if "properties" in definition:
            lines += [*reference_struct(schemas, definition), ""]
        elif options := variants(definition):
            lines += [*reference_choice(schemas, options), ""]
    lines += reference_stacks([variant.name for variant in variants(schemas.definitions["Stack"])])
    return "\n".join(lines).rstrip() + "\n"


def reference_stacks(names: list[str]) -> Iterator[str]:
    """The habits of all stacks side by side."""
    habits = {name: dict(flat(tomllib.loads((STACKS / f"{name}.toml").read_text(encoding="utf-8")))) for name in names}
    yield "(habits-of-the-stacks)="
    yield "## Habits of the stacks"
    yield ""
    yield (
        "What each [stack](#stack) sets in the table [tcp](#tcp). An empty cell is as in `rfc`: the default that the "
        "key's text names. Parameters hold for the alternative that a connection has; of a choice the first one is the "
        "stack's own, but the congestion control is always the user's."
    )
    yield ""
    yield f"| key | {' | '.join(f'`{name}`' for name in names)} |"
    yield f"|---|{'---|' * len(names)}"
    for key in sorted(dict.fromkeys(key for found in habits.values() for key in found)):
        cells = [f"`{found[key]}`" if key in found else "" for found in habits.values()]
        yield f"| `{key}` | {' | '.join(cells)} |"


def flat(table: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """The values of a stack's file by their dotted keys; a choice has its first alternative."""
    for key, value in table.items():
        if not isinstance(value, dict):
            yield path + key, value if isinstance(value, str) else json.dumps(value)
            continue
        if not path and key != "congestion":
            yield key, next(iter(value))
        yield from flat(value, f"{path}{key}.")


def generated() -> dict[Path, str]:
    """What each file should contain."""
    schemas = Schema(json.loads(SCHEMA.read_text(encoding="utf-8")))
    return {PYTHON: python_module(schemas), REFERENCE: reference_page(schemas)}


def main() -> int:
    """Write the files; with `--check` only say which have drifted."""
    drifted = 0
    for path, text in generated().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        drifted += 1
        print(path.relative_to(ROOT))
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return drifted if "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
