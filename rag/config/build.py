"""Config → objects: the only place where YAML becomes Python, and where trust is checked."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rag.config.catalog import ROOMS as ROOMS
from rag.config.identity import code_identity, digest, libraries
from rag.config.nested_choices import named_by_file
from rag.config.parameters import Promised, check, yaml_text
from rag.config.servers import ADDRESSES, Server, Trust, addresses_in, key_variable, origin_of
from rag.config.source_code import module_spec
from rag.core.errors import ConfigError, UserError, closest, required
from rag.core.memo import Once
from rag.core.roles import fingerprint, has_methods, protocols, runtime_names

TARGET, RUNTIME = "_target_", "runtime"
Inner = Callable[[Any, str], Any]
Wrapper = Callable[[Any, Callable[[], str]], Any]
FORBIDDEN = ("_args_", "_partial_", "_recursive_", "_convert_")


def folder_of(module: str) -> str:
    """The folder of components that holds a module of ours; empty for any other module.

    These modules are `rag.components.<folder>.<file>` and `rag.plugins.<plug-in>.<folder>.<file>`.
    """
    package, *places = module.split(".")
    folder = places[-2] if len(places) == {"components": 3, "plugins": 4}.get(places[0] if places else "") else ""
    return folder if package == "rag" and folder in ROOMS.values() and places[-1] else ""


class Components:
    """Builds every distinct component once, and knows its identity.

    `trusted` are the top-level packages whose classes a config may name, besides `rag`. `inner` wraps each component that is a
    parameter of another one, so that its stored results are used there too; it gets the component, and a function that returns
    its identity. `checked` says that the servers of its configs were checked before, as those of bundles are.
    """

    def __init__(self, trusted: tuple[str, ...] = (), inner: Wrapper | None = None, checked: bool = False) -> None:
        self.trusted = ("rag", *trusted)
        self.inner = inner
        self.trust = None if checked else Trust.of_user(trusted)
        self.servers: dict[str, Server] = {}
        self._built: dict[str, Any] = {}
        self._identities: dict[str, str] = {}
        self._once = Once()  # Thousands of trials share nodes: a node that was seen is not digested again.

    def __getstate__(self) -> dict[str, Any]:
        # Models stay in their process: another process builds its own components.
        return {**self.__dict__, "_built": {}, "_once": Once()}

    @property
    def without_inner(self) -> "Components":
        """The same builder without `inner`, for pipelines that are timed or served: they use no stored results.

        Components without inner components are the same objects in both, so that no model is loaded twice.
        """
        twin = Components(self.trusted[1:])
        twin._built, twin._identities, twin.trust = self._built, self._identities, self.trust
        return twin

    def build(self, node: Any, where: str) -> Any:
        """The component that a config node describes; ConfigError naming `where` if it does not describe one.

        Classes and parameters are checked at every depth before the first component is built.
        """
        return self._once(node, lambda: self._shared(node, where), "build")

    def _shared(self, node: Any, where: str) -> Any:
        """The component of equal nodes."""
        self._class(node, where)
        key = digest(node, "wrapped") if self.inner and _nests(node) else digest(node)
        if key not in self._built:
            self._check(node, where)
            self._built[key] = self._construct(node, where)
        return self._built[key]

    def role(self, role: str, node: Any, where: str = "") -> Any:
        """A component that must fit the Protocol of `role`; a class without its methods is refused before it is built."""
        return self._once(node, lambda: self._fitting(role, node, where or role), "role", role)

    def _fitting(self, role: str, node: Any, where: str) -> Any:
        target, fitting = self._class(node, where), protocols(role)
        component = self.build(node, where) if any(has_methods(target, protocol) for protocol in fitting) else None
        if not isinstance(component, fitting):
            names = " or ".join(protocol.__name__ for protocol in fitting)
            remedy = f"name a class with the methods of rag.core.roles.{names}"
            raise ConfigError(where, f"{node[TARGET]} does not fit {names}", remedy)
        return component

    def identity(self, node: Any, where: str) -> str:
        """sha256 of everything about a component that can change a result; its `runtime` parameters cannot."""
        return self._once(node, lambda: self._identity(node, where), "identity")

    def _identity(self, node: Any, where: str) -> str:
        key = digest(node)
        if key not in self._identities:
            component = self.build(node, where)
            nested = {name: self._part(value, f"{where}.{name}") for name, value in node.items() if name != RUNTIME}
            code = code_identity(type(component).__module__, self.trusted)
            self._identities[key] = digest(nested, code, fingerprint(component))
        return self._identities[key]

    def _part(self, value: Any, where: str) -> Any:
        if isinstance(value, Mapping):
            if TARGET in value:
                return self.identity(value, where)
            return {name: self._part(part, f"{where}.{name}") for name, part in value.items()}
        return [self._part(part, where) for part in value] if isinstance(value, list | tuple) else value

    def _check(self, node: Mapping[str, Any], where: str) -> type:
        """The class of a node; ConfigError for a class or a parameter that does not fit, at any depth. Nothing is built."""
        for name in FORBIDDEN:
            if name in node:
                raise ConfigError(f"{where}.{name}", "is not supported", "name a class and its parameters, nothing else")
        target = self._class(node, where)
        self._parameters(node, target, where, lambda inner, place: Promised(self._check(inner, place)))
        return target

    def _construct(self, node: Mapping[str, Any], where: str) -> Any:
        target = self._class(node, where)
        parameters = self._parameters(node, target, where, self.handed)
        try:
            return self._reached(target(**parameters), node, target, where)
        except ConfigError as error:
            raise named_by_file(error, node, where) from error
        except UserError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            what = f"{node[TARGET]} does not take these parameters: {error}"
            raise ConfigError(where, what, "check their types and values") from error

    def _reached(self, component: Any, node: Mapping[str, Any], target: type, where: str) -> Any:
        """The component, which loads nothing yet; ConfigError if one of its servers may not get what it sends.

        The addresses are those of its parameters, and the one that it takes from its defaults or from the environment.
        """
        variable = key_variable(node, target)
        places = dict(addresses_in(node, where))
        own = next((each for name in ADDRESSES if "://" in str(each := getattr(component, name, ""))), "")
        if target.__module__.startswith("rag.") or variable != key_variable({}, target):
            places |= {where: own} if origin_of(own) and own not in places.values() else {}
        for place, address in places.items() if self.trust else ():
            self.trust.check(place, address, variable)  # type: ignore[union-attr]
        if origin_of(own):
            self.servers[where] = Server.of(where, own, variable)
        return component

    def _parameters(self, node: Mapping[str, Any], target: type, where: str, inner: Inner) -> dict[str, Any]:
        """The checked parameters of a node; `inner` is called for each node of a component among them."""
        runtime = _runtime(node, target, where)
        places = {name: f"{where}.{name}" for name in node if name not in (TARGET, RUNTIME)}
        given = {name: node[name] for name in places} | dict(runtime)
        places |= {name: f"{where}.{RUNTIME}.{name}" for name in runtime}
        parameters = {name: _parameter(value, places[name], inner) for name, value in given.items()}
        check(target, parameters, node[TARGET], where, places)
        return parameters

    def _class(self, node: Any, where: str) -> type:
        if not isinstance(node, Mapping) or TARGET not in node:
            remedy = f"a mapping with {TARGET}: <class> and its parameters"
            raise ConfigError(where, f"found {yaml_text(node)}, not a component", remedy)
        return self.resolve(node[TARGET], where)

    def handed(self, node: Any, where: str) -> Any:
        """A component as the parameter of another one: wrapped by `inner`, so that its results are stored."""
        component = self.build(node, where)
        return self.inner(component, partial(self.identity, node, where)) if self.inner else component

    def resolve(self, target: Any, where: str) -> type:
        """The class with a dotted name; ConfigError unless its module is trusted and the class was defined in a trusted one."""
        plugins = ", ".join(self.trusted[1:]) or "none yet"
        known = (
            f"rag.components.<folder>.<file>.<Class>, or one of a package with the entry point group rag.plugins ({plugins})"
        )
        where = f"{where}.{TARGET}"
        module, _, name = target.rpartition(".") if isinstance(target, str) else ("", "", "")
        if not self._is_trusted(module):
            raise ConfigError(where, f"{yaml_text(target)} is outside the trusted packages", known)
        # Files of a parser whose library is missing are left out, and the others read.
        if folder_of(module) != "parsers" and module_spec(module):
            required(where.removesuffix(f".{TARGET}"), *sorted(libraries(module, self.trusted, needed=True)))
        try:
            target_class = getattr(importlib.import_module(module), name)
        except ImportError as error:
            absent = isinstance(error, ModuleNotFoundError) and (not error.name or module.startswith(error.name))
            if not absent:  # the module exists and fails itself
                raise
            raise ConfigError(where, f"there is no module {module!r}", "check the spelling") from error
        except AttributeError as error:
            classes = inspect.getmembers(importlib.import_module(module), inspect.isclass)
            own = [name for name, value in classes if value.__module__ == module]
            raise ConfigError(where, f"{module} has no class {name!r}", closest(name, own)) from error
        if not inspect.isclass(target_class) or not self._is_trusted(target_class.__module__):
            raise ConfigError(where, f"{target!r} is not a class of a trusted package", known)
        return target_class

    def _is_trusted(self, module: str) -> bool:
        """Whether a module may hold components: a file in a folder of ROOMS, or one of a plug-in that the caller trusts.

        Our other modules open databases and run programs.
        """
        parts = module.split(".")
        plain = all(part.isidentifier() and part != "__main__" for part in parts)
        return plain and parts[0] in self.trusted and (parts[0] != "rag" or bool(folder_of(module)))


def _parameter(value: Any, where: str, inner: Inner) -> Any:
    if isinstance(value, Mapping):
        if TARGET in value:
            return inner(value, where)
        return {key: _parameter(part, f"{where}.{key}", inner) for key, part in value.items()}
    return [_parameter(part, where, inner) for part in value] if isinstance(value, list) else value


def _nests(value: Any) -> bool:
    """Whether a component is among the parts of a value, at any depth."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any((isinstance(part, Mapping) and TARGET in part) or _nests(part) for part in parts)


def _runtime(node: Mapping[str, Any], target: type, where: str) -> Mapping[str, Any]:
    """The `runtime` block of a node; ConfigError for a parameter that its class does not declare, because no key holds it."""
    runtime = node.get(RUNTIME) or {}
    if not isinstance(runtime, Mapping):
        raise ConfigError(f"{where}.{RUNTIME}", f"is {yaml_text(runtime)}", "a mapping of parameters that change no result")
    declared = runtime_names(target)
    for name in runtime:
        place = f"{where}.{RUNTIME}.{name}"
        if name in node:
            raise ConfigError(place, "is given outside of runtime too", "leave one of them out")
        if name not in declared:
            what = f"may change results: the attribute `runtime` of {node[TARGET]} does not name it"
            moved = f"set {where}.{name}" if name in inspect.signature(target).parameters else ""
            raise ConfigError(place, what, moved or (closest(str(name), declared) if declared else "leave it out"))
    return runtime
