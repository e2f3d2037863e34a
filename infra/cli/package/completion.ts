import type { Command } from "commander";

/** The completion scripts of the shells. The scripts ask `hosted-mail __complete` for the words that can come next. */
const scripts = {
  bash: `_hosted_mail() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(hosted-mail __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _hosted_mail hosted-mail`,
  zsh: `#compdef hosted-mail
_hosted_mail() {
  local -a found
  found=("\${(@f)$(hosted-mail __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then compadd -a found; else _files; fi
}
compdef _hosted_mail hosted-mail`,
  fish: `function __hosted_mail
  set -l words (commandline -opc) (commandline -ct)
  hosted-mail __complete -- $words[2..-1] 2>/dev/null
end
complete -c hosted-mail -a '(__hosted_mail)'`,
};

export type Shell = keyof typeof scripts;
export const shells = Object.keys(scripts) as Shell[];

/** The completion script for a shell. */
export const completionScript = (shell: Shell): string => scripts[shell];

const namesOf = ({ commands }: Command): string[] =>
  commands.map((one) => one.name()).filter((name) => !name.startsWith("__"));

/** The possible completions of the last word in `words`. The last word is still being typed, and may be empty. */
export function completionsOf(program: Command, words: readonly string[]): string[] {
  let command = program;
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  for (const word of before)
    command = command.commands.find((one) => one.name() === word || one.aliases().includes(word)) ?? command;
  const last = before.at(-1) ?? "";
  const option = command.options.find(({ long }) => long === last);
  // After an option with a required value comes the value. If the value has no choices, there are no completions.
  const values = option?.argChoices ?? (option?.required ? [] : undefined);
  if (values) return values.filter((one) => one.startsWith(current));
  const flags = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? "");
  const isFlag = current.startsWith("-");
  return (isFlag ? [...flags, "--help"] : namesOf(command)).filter((one) => one.startsWith(current));
}
