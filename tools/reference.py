#!/usr/bin/python3
"""Writes the reference from the public headers: a page for each that declares something that users name.

    tools/reference.py write [--out DIR]   writes the pages; fails on what it could not find out (house.reference)

A page has the signatures, the docstrings with their sections in the house's order, and what an await gives: that is
compiled, as `co_await mutex.lock()` in a coroutine that is never run. Needs libclang's bindings (python3-clang-19;
scripts/setup installs them).
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import docstrings
import reference_pages
import tree
from reference_pages import Entry
from reference_text import (AT_THE_END, AWAITS_OWN, COMPILERS_OWN, LIBRARYS_OWN, MACRO_FOR_USERS, clean, cut_at_depth_0, is_only_an_error,
                            squeezed, user_type, with_auto, without_comments)

try:
    from clang import cindex
    from clang.cindex import AccessSpecifier, CursorKind
except ImportError:
    sys.exit("reference: the bindings of libclang are missing; scripts/setup installs them (python3-clang-19)")

FOLDER = "build/reference"
DATA = "tools/reference.toml"
ARGUMENTS = ["-x", "c++", "-std=c++20", "-fcoro-aligned-allocation", "-ferror-limit=0"]
CLASSES = (CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE,
           CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION)
FUNCTIONS = (CursorKind.FUNCTION_DECL, CursorKind.FUNCTION_TEMPLATE, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR,
             CursorKind.CONVERSION_FUNCTION)
ALIASES = (CursorKind.TYPE_ALIAS_DECL, CursorKind.TYPE_ALIAS_TEMPLATE_DECL)
PARAMETERS = (CursorKind.TEMPLATE_TYPE_PARAMETER, CursorKind.TEMPLATE_NON_TYPE_PARAMETER, CursorKind.TEMPLATE_TEMPLATE_PARAMETER)
INTERNAL_NAMESPACES = ("detail", "coroutines", "")


@dataclass
class Probe:
    entry: Entry
    index: int
    expression: str
    declared: str  # the result type as it is written


def namespace_of(cursor: cindex.Cursor) -> list[str]:
    names = []
    parent = cursor.semantic_parent
    while parent is not None and parent.kind != CursorKind.TRANSLATION_UNIT:
        names.insert(0, parent.spelling)
        parent = parent.semantic_parent
    return names


def template_of(cursor: cindex.Cursor) -> cindex.Cursor | None:
    template = cindex.conf.lib.clang_getSpecializedCursorTemplate(cursor)
    return None if template is None or template.kind in (CursorKind.NO_DECL_FOUND, CursorKind.INVALID_FILE) else template


def is_internal(cursor: cindex.Cursor) -> bool:
    """In a namespace of the library's own, private in a class, or what an await is made of."""
    if cursor.kind in CLASSES and AWAITS_OWN.search(cursor.spelling):
        return True
    while cursor is not None and cursor.kind != CursorKind.TRANSLATION_UNIT:
        if cursor.kind == CursorKind.NAMESPACE and cursor.spelling in INTERNAL_NAMESPACES:
            return True
        if cursor.canonical.access_specifier in (AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED):
            return True
        cursor = cursor.semantic_parent
    return False


class Reader:
    """Reads the syntax tree of all headers into entries, and collects the awaits that are to be compiled."""

    def __init__(self, root: Path, data: dict) -> None:
        self.root = root
        self.arguments: dict[str, list[str]] = data["arguments"]
        self.probes_given: dict[str, str] = data["probes"]
        self.awaited: list[str] = data["awaited"]
        self.prelude: str = data["prelude"]
        self.not_for_users: dict[str, str] = data["not_for_users"]
        self.needs: dict[str, str] = data["needs"]
        self.index = cindex.Index.create()
        self.texts: dict[str, bytes] = {}
        self.entries: dict[str, list[Entry]] = {}
        self.aliases: dict[str, str] = {}
        self.placeholders: set[str] = {"T", "A", "B"}
        self.probes: list[Probe] = []
        self.problems: list[str] = []

    # ---- the text of the headers

    def text_of(self, file: str) -> bytes:
        if file not in self.texts:
            self.texts[file] = Path(file).read_bytes()
        return self.texts[file]

    def source(self, cursor: cindex.Cursor) -> str:
        text = self.text_of(cursor.location.file.name)
        return text[cursor.extent.start.offset:cursor.extent.end.offset].decode()

    def comment(self, cursor: cindex.Cursor) -> str:
        """The docstring. libclang misses one where a semicolon or a brace stands between, as in the text of a
        [[nodiscard]]."""
        if (cursor.raw_comment or "").startswith("///"):
            return cursor.raw_comment
        before = self.text_of(cursor.location.file.name)[:cursor.extent.start.offset].decode()
        above = AT_THE_END.search(before)
        return above[1] if above and cursor.raw_comment is None else ""

    # ---- the tree

    def parse(self, text: str) -> cindex.TranslationUnit:
        return self.index.parse("reference.cpp", args=[*ARGUMENTS, f"-I{self.root / 'include'}"], unsaved_files=[("reference.cpp", text)])

    def can_read(self, header: Path) -> bool:
        """The library of others that it needs, if any, is there."""
        of_others = self.needs.get(str(header))
        return of_others is None or not self.parse(f"#if !__has_include(<{of_others}>)\n#error\n#endif").diagnostics

    def read(self, headers: list[Path]) -> None:
        includes = "".join(f"#include <{header.relative_to('include')}>\n" for header in headers)
        unit = self.parse(includes)
        wrong = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if wrong:
            sys.exit("reference: the headers do not compile:\n" + "\n".join(wrong[:5]))
        public = {str(self.root / header): str(header) for header in headers}
        for top in unit.cursor.get_children():
            if top.location.file is None or top.location.file.name not in public:
                continue
            header = public[top.location.file.name]
            self.entries.setdefault(header, [])
            if top.kind == CursorKind.NAMESPACE and top.spelling == "coflux":
                self.read_namespace(top, self.entries[header])
            elif top.kind in CLASSES and namespace_of(top)[:1] == ["coflux"]:  # a nested class that is defined outside of its own
                self.read_declaration(top, self.entries[header])
        for header, entries in self.entries.items():
            entries += self.macros((self.root / header).read_text(encoding="utf-8"))

    @staticmethod
    def macros(text: str) -> list[Entry]:
        """Those for users, which have a docstring or follow one that has."""
        entries: list[Entry] = []
        for match in MACRO_FOR_USERS.finditer(text):
            entries.append(Entry(match[2], "macro", [f"#define {match[2]}{match[3]}"], [docstrings.parse(match[1] or "")], [""]))
        return entries

    def read_namespace(self, namespace: cindex.Cursor, into: list[Entry]) -> None:
        for cursor in namespace.get_children():
            if cursor.kind == CursorKind.NAMESPACE:
                if cursor.spelling not in INTERNAL_NAMESPACES:
                    self.read_namespace(cursor, into)
            elif not is_internal(cursor):
                self.read_declaration(cursor, into)

    def read_declaration(self, cursor: cindex.Cursor, into: list[Entry], owner: str = "") -> None:
        """One declaration of a namespace, or of the public part of a class whose type is `owner`."""
        doc = docstrings.parse(self.comment(cursor))
        documented = bool(doc)
        name = "::".join([*namespace_of(cursor)[1:], cursor.spelling])
        if name in self.not_for_users or (doc.text and LIBRARYS_OWN.match(doc.text[0])) or cursor.spelling.startswith("<"):
            return
        if not doc and cursor.kind in FUNCTIONS:  # the docstring of `co_await f()` may stand at the type of `f()`
            declaration = self.declaration_of(cursor.result_type)
            if declaration is not None and AWAITS_OWN.search(declaration.spelling) and self.comment(declaration):
                doc, documented = docstrings.parse(self.comment(declaration)), True
        types = (*CLASSES, CursorKind.ENUM_DECL)
        if not owner and not documented and cursor.kind not in types and all(entry.name != name for entry in into):
            return
        if cursor.kind in CLASSES and AWAITS_OWN.search(cursor.spelling):
            return
        if cursor.kind in CLASSES:
            self.read_class(cursor, name, doc, into)
        elif cursor.kind in FUNCTIONS:
            self.read_function(cursor, name, doc, into, owner)
        elif cursor.kind in ALIASES:
            self.read_alias(cursor, name, doc, into)
        elif cursor.kind == CursorKind.ENUM_DECL and cursor.is_definition():
            self.read_enum(cursor, name, doc, into)
        elif cursor.kind == CursorKind.CONCEPT_DECL and documented:
            into.append(Entry(name, "concept", [without_comments(self.source(cursor)) + ";"], [doc], [""]))
        elif cursor.kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL) and (documented or cursor.kind == CursorKind.FIELD_DECL):
            if not self.names_internals(cursor.type):
                into.append(Entry(name, "variable", [clean(self.source(cursor)) + ";"], [doc], [""]))

    def names_internals(self, type_: cindex.Type) -> bool:
        declaration = self.declaration_of(type_)
        return declaration is not None and is_internal(declaration)

    def declaration_of(self, type_: cindex.Type) -> cindex.Cursor | None:
        while type_.kind in (cindex.TypeKind.LVALUEREFERENCE, cindex.TypeKind.RVALUEREFERENCE, cindex.TypeKind.POINTER):
            type_ = type_.get_pointee()
        declaration = type_.get_declaration()
        if declaration.kind == CursorKind.NO_DECL_FOUND:
            return None
        return template_of(declaration) or declaration

    # ---- classes

    def read_class(self, cursor: cindex.Cursor, name: str, doc: docstrings.Docstring, into: list[Entry]) -> None:
        primary = next((entry for entry in into if entry.name.startswith(name + "<") and not entry.members), None)
        if not cursor.is_definition() and (not doc or cursor.get_definition() is not None):
            return
        if not doc and cursor.kind == CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION:
            if primary is not None and primary.kind == "declared":  # whose members are those of a specialization
                primary.kind = "class"
                self.read_members(cursor, primary.members, primary.name, set())
            return
        if not doc and cursor.kind == CursorKind.CLASS_TEMPLATE:
            return
        head = cut_at_depth_0(clean(self.source(cursor)), re.compile(r"\{|(?<!:):(?!:)"))
        head = squeezed(head)
        plain = re.search(rf"\b(?:class|struct)\s+((?:\w+::)*{re.escape(cursor.spelling)}(?:\s*<.*>)?)", head)
        entry = Entry(name, "class", [head + ";"], [doc], [""])
        own = plain[1] if plain else cursor.spelling
        scope = "::".join(namespace_of(cursor)[1:])
        type_ = own if own.startswith(scope) else f"{scope}::{own}" if scope else own
        if cursor.kind == CursorKind.CLASS_TEMPLATE:
            names = [child.spelling for child in cursor.get_children() if child.kind in PARAMETERS]
            type_ += f"<{', '.join(names)}>"
            entry.name += f"<{', '.join(names)}>"
        elif cursor.kind == CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION:
            entry.name = type_
        elif cursor.displayname != cursor.spelling:  # a full specialization
            entry.name = name.removesuffix(cursor.spelling) + cursor.displayname
            type_ = entry.name
        entry.kind = "class" if cursor.is_definition() else "declared"
        entry.notes = self.bases(cursor) + self.copies(cursor)
        self.read_members(cursor, entry.members, type_, set())
        if name in self.awaited:
            object_ = self.substituted(type_, self.names_in(type_), False)[0]
            self.probes.append(Probe(entry, 0, f"give<{object_}&&>()", ""))
        if doc or entry.members:
            into.append(entry)

    def bases(self, cursor: cindex.Cursor) -> list[str]:
        found = []
        for base in cursor.get_children():
            if base.kind != CursorKind.CXX_BASE_SPECIFIER or base.access_specifier != AccessSpecifier.PUBLIC:
                continue
            if not self.is_internal_base(base):
                found.append(f"Derives from `{user_type(base.type.spelling, self.aliases)}`.")
            elif (definition := self.base_definition(base)) is not None:
                found += self.bases(definition)
        return found

    def base_definition(self, base: cindex.Cursor) -> cindex.Cursor | None:
        for child in base.get_children():
            if child.kind in (CursorKind.TEMPLATE_REF, CursorKind.TYPE_REF) and child.referenced is not None:
                referenced = child.referenced
                if referenced.kind in ALIASES:  # `using base = detail::…;`
                    referenced = next((c.referenced for c in referenced.get_children() if c.kind == CursorKind.TEMPLATE_REF), referenced)
                if referenced.kind in CLASSES:
                    return referenced.get_definition() or referenced
        return None

    def is_internal_base(self, base: cindex.Cursor) -> bool:
        definition = self.base_definition(base)
        return "detail::" in base.type.spelling or (definition is not None and is_internal(definition))

    def copies(self, cursor: cindex.Cursor) -> list[str]:
        """What deleted and declared copies say."""
        def declared(kind: CursorKind, argument: str) -> str | None:
            for child in cursor.get_children():
                if child.kind != kind or (kind == CursorKind.CXX_METHOD and child.spelling != "operator="):
                    continue
                parameters = [squeezed(p.type.spelling) for p in child.get_arguments()]
                if len(parameters) == 1 and parameters[0].endswith(argument) and parameters[0].startswith("const ") == (argument == " &"):
                    return "deleted" if "= delete" in squeezed(self.source_to_semicolon(child)) else "there"
            return None
        copy, move = declared(CursorKind.CONSTRUCTOR, " &"), declared(CursorKind.CONSTRUCTOR, " &&")
        if move == "there" and copy != "there":
            return ["Move-only."]
        if copy == "deleted":
            return ["Neither copyable nor movable."]
        return []

    def source_to_semicolon(self, cursor: cindex.Cursor) -> str:
        text = self.text_of(cursor.location.file.name)
        end = text.find(b";", cursor.extent.end.offset - 1)
        return text[cursor.extent.start.offset:end].decode()

    def source_before_body(self, cursor: cindex.Cursor) -> str | None:
        # That of a coroutine is no compound statement to libclang.
        body = next((child for child in cursor.get_children() if child.kind.is_statement()), None)
        if body is None:
            return None
        return self.text_of(cursor.location.file.name)[cursor.extent.start.offset:body.extent.start.offset].decode()

    def read_members(self, cursor: cindex.Cursor, into: list[Entry], type_: str, seen: set[str]) -> None:
        """The public members of a class, and those of the internal classes that it derives from publicly."""
        for child in cursor.get_children():
            if child.kind == CursorKind.FRIEND_DECL:
                for friend in child.get_children():
                    if friend.kind in FUNCTIONS and self.comment(friend):
                        self.read_declaration(friend, into, type_)
            elif child.kind == CursorKind.CXX_BASE_SPECIFIER:
                if child.access_specifier == AccessSpecifier.PUBLIC and self.is_internal_base(child):
                    definition = self.base_definition(child)
                    if definition is not None and definition.get_usr() not in seen:
                        already = len(into)
                        self.read_members(definition, into, type_, seen | {definition.get_usr()})
                        into[already:] = [entry for entry in into[already:] if entry.kind != "constructor"]
                        for entry in into[already:]:
                            entry.signatures = [re.sub(r"\bSelf\b", type_.split("<")[0], each) for each in entry.signatures]
            elif child.canonical.access_specifier == AccessSpecifier.PUBLIC:
                self.read_declaration(child, into, type_)

    # ---- functions

    def read_function(self, cursor: cindex.Cursor, name: str, doc: docstrings.Docstring, into: list[Entry], owner: str) -> None:
        whole = self.source(cursor) if cursor.is_definition() else self.source_to_semicolon(cursor)
        if cursor.semantic_parent != cursor.lexical_parent and cursor.semantic_parent.kind in CLASSES:
            return  # the definition of what the class declares
        if COMPILERS_OWN.match(cursor.spelling) or is_only_an_error(without_comments(whole)) or "= delete" in whole:
            return
        if not doc and self.is_special(cursor):
            return
        if any(self.names_internals(argument.type) for argument in cursor.get_arguments()):
            return
        signature = clean(self.source_before_body(cursor) or whole)
        if re.search(rf"\bdetail::{re.escape(cursor.spelling)} ?\(", signature):
            return  # a friend
        is_constructor = cursor.kind == CursorKind.CONSTRUCTOR or cursor.spelling.split("<")[0] == cursor.semantic_parent.spelling
        if is_constructor:
            signature = cut_at_depth_0(signature, re.compile(r"(?<=[\w)]) : "))
        signature = re.sub(r" = defaul?t?$", "", signature)  # libclang may end it a byte early
        kind = "constructor" if is_constructor else "function"
        shown = name if kind == "function" else "::".join([*namespace_of(cursor)[1:], "(constructor)"])
        result = cursor.result_type.spelling if kind == "function" else ""
        hidden = kind == "function" and (self.names_internals(cursor.result_type) or re.match(r"(?:const )?detail::", result) is not None)
        if hidden or re.match(r"(?:constexpr )?(?:auto|decltype\(auto\))\b(?!.*->)", result):
            expression = self.expression(cursor, name, owner)
            if expression == "" and hidden and not doc:
                return
        else:
            expression = ""
        entry = next((e for e in into if e.name == shown and e.kind == kind), None)
        if entry is None:
            entry = Entry(shown, kind)
            into.append(entry)
        entry.signatures.append(with_auto(signature, result, cursor.spelling) if hidden else signature)
        entry.docs.append(doc)
        entry.gives.append("")
        if expression:
            self.probes.append(Probe(entry, len(entry.signatures) - 1, expression, result))

    def is_special(self, cursor: cindex.Cursor) -> bool:
        """Copy, move, destructor, default: said in a note, or plain."""
        if cursor.kind == CursorKind.CONSTRUCTOR:
            parameters = [p.type for p in cursor.get_arguments()]
            return cursor.is_copy_constructor() or cursor.is_move_constructor() or (
                not parameters and cursor.is_default_constructor() and "= default" in self.source_to_semicolon(cursor))
        if cursor.spelling == "operator=":
            return True
        return cursor.kind == CursorKind.DESTRUCTOR

    def expression(self, cursor: cindex.Cursor, name: str, owner: str) -> str:
        """A call of the function with arguments of its parameters' types."""
        key = name if not owner else f"{re.sub('<.*', '', owner)}::{cursor.spelling}"
        for pattern, given in self.probes_given.items():
            if fnmatch.fnmatchcase(key, pattern):
                return given
        templates = [child for child in cursor.get_children() if child.kind in PARAMETERS]
        names = [child.spelling for child in templates]
        arguments = []
        for parameter in cursor.get_children():
            if parameter.kind != CursorKind.PARM_DECL or "=" in clean(self.source(parameter)):
                continue
            spelled = parameter.type.spelling
            if owner:
                spelled = re.sub(r"\bvalue_type\b", f"typename {owner}::value_type", spelled)
                names += self.names_in(owner)
            pack = spelled.endswith("...")
            types = self.substituted(spelled.removesuffix("...").strip(), names, pack)
            arguments += [f"give<{type_}>()" for type_ in types]
        deduced = " ".join(parameter.type.spelling for parameter in cursor.get_children() if parameter.kind == CursorKind.PARM_DECL)
        first = templates[0].spelling if templates else ""
        explicit = "" if not first or re.search(rf"\b{first}\b", deduced) else f"<{self.substituted(first, [first], False)[0]}>"
        if cursor.spelling.startswith("operator"):
            operator = cursor.spelling.removeprefix("operator")
            return f"(give<{self.substituted(owner, self.names_in(owner), False)[0]}&>() {operator} {arguments[0]})" if owner and arguments else ""
        call = f"{cursor.spelling}{explicit}({', '.join(arguments)})"
        if not owner or cursor.is_static_method():
            return f"{'::'.join(name.split('::')[:-1]) + '::' if '::' in name else ''}{call}"
        unconstrained = self.source_to_semicolon(cursor).split("requires")[0]
        moved = "&&" if re.search(r"\)\s*&&", unconstrained) else "&"
        object_ = self.substituted(owner, self.names_in(owner), False)[0]
        return f"give<{object_}{moved}>().{call}"

    @staticmethod
    def names_in(type_: str) -> list[str]:
        inside = re.search(r"<(.*)>", type_)
        return re.findall(r"\b[A-Z]\w*\b", inside[1]) if inside else []

    def substituted(self, type_: str, names: list[str], pack: bool) -> list[str]:
        """The type with arguments in place of the named parameters of templates; several for a pack."""
        results = [type_]
        for name in dict.fromkeys(names):
            if not re.search(rf"\b{name}\b", type_):
                continue
            choices = self.arguments.get(name)
            if choices is None:
                self.placeholders.add(name)
                choices = [name]
            choices = choices if pack else choices[:1]
            results = [re.sub(rf"\b{name}\b(?:\s*&&$)?", choice, result) for choice in choices for result in results]
        return results

    # ---- aliases and enums

    def read_alias(self, cursor: cindex.Cursor, name: str, doc: docstrings.Docstring, into: list[Entry]) -> None:
        text = clean(self.source(cursor)) + ";"
        entry = Entry(name, "alias", [text], [doc], [""])
        declaration = self.declaration_of(cursor.underlying_typedef_type) if cursor.kind == CursorKind.TYPE_ALIAS_DECL else None
        if declaration is not None and declaration.location == cursor.semantic_parent.location:
            return  # the class's own name, by which a concept knows it
        if declaration is not None and is_internal(declaration):
            entry.signatures = [re.sub(r"=.*;", "= see below;", text)]
            definition = declaration.get_definition()
            if definition is not None:
                self.read_members(definition, entry.members, name, set())
                for member in entry.members:
                    if member.kind == "constructor":
                        member.signatures = [re.sub(rf"\b{definition.spelling}(?=\()", cursor.spelling, each) for each in member.signatures]
                entry.notes = self.copies(definition)
            self.aliases[user_type(cursor.underlying_typedef_type.get_canonical().spelling, {})] = name
        elif not doc:
            return
        elif "detail::" in text:
            entry.signatures = [re.sub(r"=.*;", "= see below;", text)]
        if doc or entry.members:
            into.append(entry)

    def read_enum(self, cursor: cindex.Cursor, name: str, doc: docstrings.Docstring, into: list[Entry]) -> None:
        entry = Entry(name, "enum", [clean(cut_at_depth_0(self.source(cursor), re.compile(r"\{"))) + ";"], [doc], [""])
        for constant in cursor.get_children():
            if constant.kind == CursorKind.ENUM_CONSTANT_DECL:
                comment = constant.raw_comment or ""
                entry.members.append(Entry(constant.spelling, "value", [], [docstrings.parse(comment)], [""]))
        into.append(entry)

    # ---- awaits

    def find_out(self, headers: list[Path]) -> None:
        """Compiles the awaits, and writes what they give into the entries."""
        lines = [f"#include <{header.relative_to('include')}>" for header in headers]
        lines.append("namespace coflux::reference { template <typename X> X give();")
        lines += [f"struct {name} {{}};" for name in sorted(self.placeholders)]
        lines += self.prelude.splitlines()
        lines.append("call<void> probes(environment&) {")
        for number, probe in enumerate(self.probes):
            lines.append(f"auto&& made_{number} = {probe.expression};")
            lines.append(f"auto&& given_{number} = co_await {probe.expression};")
        lines.append("} }")
        unit = self.parse("\n".join(lines) + "\n")
        types: dict[str, str] = {}
        internal: dict[str, bool] = {}
        for variable in self.variables(unit):
            canonical = variable.type.get_canonical()
            types[variable.spelling] = canonical.spelling
            declaration = self.declaration_of(canonical)
            internal[variable.spelling] = declaration is not None and is_internal(declaration)
        wrong: dict[int, str] = {}
        for diagnostic in unit.diagnostics:
            if diagnostic.location.file is not None and diagnostic.location.file.name == "reference.cpp":
                wrong.setdefault(diagnostic.location.line, diagnostic.spelling)
        first = len(lines) - 2 * len(self.probes)
        for number, probe in enumerate(self.probes):
            made, given = types.get(f"made_{number}", "auto"), types.get(f"given_{number}", "auto")
            why = wrong.get(first + 2 * number, "") or wrong.get(first + 2 * number + 1, "")
            gives_nothing = "'void'" in wrong.get(first + 2 * number + 1, "")
            is_call = re.match(r"coflux::call<", made) is not None
            if probe.declared and "auto" not in made and not internal.get(f"made_{number}", False) and not is_call:
                self.resolve_auto(probe, user_type(made, self.aliases))
            elif gives_nothing:
                probe.entry.gives[probe.index] = "nothing"
            elif "auto" not in given:
                probe.entry.gives[probe.index] = user_type(given, self.aliases)
            else:
                self.problems.append(f"{probe.entry.name}: what does `co_await {probe.expression}` give? {why}")

    @staticmethod
    def resolve_auto(probe: Probe, type_: str) -> None:
        signature = probe.entry.signatures[probe.index]
        if re.search(r"\bauto\b|decltype\(auto\)", signature):
            name = re.escape(probe.entry.name.split("::")[-1])
            probe.entry.signatures[probe.index] = re.sub(rf"(?:decltype\(auto\)|\bauto\b)(?: ?&&?)?(?= {name})", type_, signature, count=1)

    def variables(self, unit: cindex.TranslationUnit) -> list[cindex.Cursor]:
        found = []
        for top in unit.cursor.get_children():
            if top.location.file is not None and top.location.file.name == "reference.cpp":
                found += [c for c in top.walk_preorder() if c.kind == CursorKind.VAR_DECL]
        return found



def headers_of(root: Path) -> list[Path]:
    """What may be included together: all but what replaces the program's operator new."""
    return [path for path in docstrings.headers(root) if path.name != "replace_new.hpp"]


def generate(root: Path, out: Path, data: dict) -> tuple[dict[str, str], list[str]]:
    """The pages by their paths below `out`, and what could not be found out."""
    reader = Reader(root, data)
    headers = [header for header in headers_of(root) if reader.can_read(header)]
    reader.read(headers)
    reader.find_out(headers)
    missing = [f"{entry.name}: there is no {path}" for entries in reader.entries.values() for top in entries
               for entry in top.all() for path in reference_pages.examples(entry) if not (root / path).is_file()]
    return reference_pages.pages(root, out, reader.entries), reader.problems + missing


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"where the pages go (default: {FOLDER})")
    parser.add_argument("command", choices=("write",))
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    out = (options.out or root / FOLDER).resolve()
    pages, problems = generate(root, out, tomllib.loads((root / DATA).read_text(encoding="utf-8")))
    for page, text in pages.items():
        (out / page).parent.mkdir(parents=True, exist_ok=True)
        (out / page).write_text(text, encoding="utf-8")
    for problem in problems:
        print(problem)
    print(f"reference: {len(pages)} pages in {out}, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
