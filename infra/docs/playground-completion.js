import { boundAt, membersAt } from "./playground-shapes.js";
import { placeAt, variablesOf } from "./playground-text.js";

const most = 30;

/** The rank of a name for a word: where it begins with it first, then where a part of it does, then where it is in it. */
function rankOf(name, word) {
  const [lower, wanted] = [name.toLowerCase(), word.toLowerCase()];
  if (lower.startsWith(wanted)) return 0;
  if (lower.split(/[._]/).some((part) => part.startsWith(wanted))) return 1;
  return lower.includes(wanted) ? 2 : undefined;
}

const fitting = (choices, word, worst) =>
  choices
    .flatMap((choice) => {
      const rank = rankOf(choice.label, word) ?? 3;
      return rank > worst || choice.label === word ? [] : [{ choice, rank }];
    })
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, most)
    .map(({ choice }) => choice);

const callable = ({ name, summary, parameters }) => ({
  label: name,
  detail: summary,
  // The caret goes between the brackets, where there is something to write.
  insert: `${name}()`,
  back: parameters.length > 0 ? 1 : 0,
});

/** The values that a parameter of this type has, where it has only these. */
function valuesOf(type) {
  if (type.startsWith("boolean")) return ["True", "False"];
  return /^"[^"]*"( or ("[^"]*"|null))*$/.test(type) ? type.match(/"[^"]*"/g) : [];
}

function argument({ name, type, required, description }) {
  const isText = type.startsWith("string");
  return {
    label: name,
    detail: `${required ? "" : "optional, "}${type}`,
    about: description,
    insert: isText ? `${name}=""` : `${name}=`,
    back: isText ? 1 : 0,
  };
}

const plain = (label, detail = "") => ({ label, detail, insert: label, back: 0 });

const kindOf = (shape) => (shape?.members ? "dict" : shape ? "list" : "");

/** The members of the value before the dot; undefined where nothing is known of it. */
function memberChoices(text, caret, known, isAsked) {
  const found = membersAt(text, caret, known);
  if (!found) return undefined;
  const choices = found.members.map(({ name, shape }) => plain(name, kindOf(shape)));
  return { start: found.start, end: caret, choices: fitting(choices, found.word, isAsked ? 2 : 1) };
}

/** The values of the argument at the caret, a text with its quotes; undefined where they are not known. */
function valueChoices(text, caret, { word, openText, start, argument: name }, called) {
  const parameter = called?.parameters.find((one) => one.name === name);
  const values = parameter ? valuesOf(parameter.type) : [];
  if (values.length === 0) return undefined;
  const quote = openText?.[0];
  const begun = quote === undefined ? word : `"${openText.slice(1)}`;
  const choices = values.map((value) => ({ ...plain(value), about: parameter.description }));
  const end = text[caret] === quote ? caret + 1 : caret;
  return { start, end, choices: fitting(choices, begun, begun === "" ? 3 : 1) };
}

/**
 * What can stand at the caret: members of a value, values and names of parameters, variables, functions. Only what is
 * asked for is found in the middle of names.
 */
export function choicesAt(text, caret, known, isAsked) {
  const { functions } = known;
  const place = placeAt(text, caret);
  if (!place) return undefined;
  const { word, openText, start, call, wantsName } = place;
  const called = call && functions.get(call.name);
  const values = valueChoices(text, caret, place, called);
  if (openText !== undefined) return values;
  const members = memberChoices(text, caret, known, isAsked);
  if (members) return members;
  if (wantsName && called) {
    const left = called.parameters.filter(({ name }) => !call.given.has(name) || name === word);
    const ordered = [...left.filter(({ required }) => required), ...left.filter(({ required }) => !required)];
    return { start, end: caret, choices: fitting(ordered.map(argument), word, 2) };
  }
  const offered = values?.choices ?? [];
  if (word === "" && !isAsked) return { start, end: caret, choices: offered };
  const names = new Set([...boundAt(text, caret), ...variablesOf(text.slice(0, start))]);
  const others = [...[...names].map((name) => plain(name, "variable")), ...[...functions.values()].map(callable)];
  return { start, end: caret, choices: [...offered, ...fitting(others, word, isAsked ? 2 : 1)] };
}

/** The signature of the call that the caret is in, for a line beside the editor; undefined where there is none. */
export function callAt(text, caret, { functions }) {
  const place = placeAt(text, caret);
  return place?.call && functions.get(place.call.name);
}
