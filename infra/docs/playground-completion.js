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

function argument({ name, type, required, description }) {
  const isText = /^(string|")/.test(type);
  return {
    label: name,
    detail: `${required ? "" : "optional, "}${type}`,
    about: description,
    insert: isText ? `${name}=""` : `${name}=`,
    back: isText ? 1 : 0,
  };
}

/** What can stand at the caret: parameters of the call it is in, variables, functions. Only what is asked for is found in the middle of names. */
export function choicesAt(text, caret, functions, isAsked) {
  const place = placeAt(text, caret);
  if (!place || place.isText) return undefined;
  const { word, start, call, wantsName } = place;
  const called = call && functions.get(call.name);
  if (wantsName && called) {
    const left = called.parameters.filter(({ name }) => !call.given.has(name) || name === word);
    const choices = fitting(
      [...left.filter(({ required }) => required), ...left.filter(({ required }) => !required)].map(argument),
      word,
      2,
    );
    return { start, choices };
  }
  if (word === "" && !isAsked) return { start, choices: [] };
  const variables = [...variablesOf(text)].map((name) => ({ label: name, detail: "variable", insert: name, back: 0 }));
  return { start, choices: fitting([...variables, ...[...functions.values()].map(callable)], word, isAsked ? 2 : 1) };
}

/** The signature of the call that the caret is in, for a line beside the editor; undefined where there is none. */
export function callAt(text, caret, functions) {
  const place = placeAt(text, caret);
  return place?.call && functions.get(place.call.name);
}
