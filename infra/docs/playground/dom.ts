/** An element with its properties and children; `undefined` children are left out. */
export function node<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: (Node | string | undefined)[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}
