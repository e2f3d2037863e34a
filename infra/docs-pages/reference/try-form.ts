import { escapeHtml } from "../../../shared/core/text.ts";
import { typeText } from "./fields.ts";
import type { ReferenceOperation } from "./operations.ts";
import { exampleFor } from "./samples.ts";

/** The headers in the form. Other headers are only useful for programs. */
const triedHeaders: ReadonlySet<string> = new Set(["Idempotency-Key", "If-Match"]);

type TriedParameter = ReferenceOperation["parameters"][number];

function inputFor({ in: place, name, schema, required }: TriedParameter, value: string): string {
  const id = `try-${place}-${name}`;
  const label = `<label for="${id}"><code>${escapeHtml(name)}</code> <span class="type">${escapeHtml(typeText(schema))}</span></label>`;
  const values = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
  const attributes = `id="${id}" name="${escapeHtml(name)}" data-place="${place}"${required ? " required" : ""}`;
  const input = values
    ? `<select ${attributes}><option value=""></option>${values.map((one) => `<option${String(one) === value ? " selected" : ""}>${escapeHtml(String(one))}</option>`).join("")}</select>`
    : `<input ${attributes} value="${escapeHtml(value)}" autocomplete="off" autocapitalize="off" spellcheck="false" />`;
  return `<p>${label}${input}</p>`;
}

const tokenField = `<p><label for="try-token">Access token</label><input id="try-token" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="eyJ… or sat_…" aria-describedby="try-note" /></p>
<p class="demo" hidden><button type="button" id="try-demo">Use a demo token</button></p>`;

/**
 * The form that sends a request from the page, filled with values of the example. The form is hidden until the page's
 * script is ready.
 */
export function tryForm(operation: ReferenceOperation): string {
  const { values, body } = exampleFor(operation);
  const shown = operation.parameters.filter(({ in: place, name }) => place !== "header" || triedHeaders.has(name));
  const fields = shown.map((parameter) =>
    inputFor(parameter, parameter.in === "path" ? (values[parameter.name] ?? "") : ""),
  );
  const text = JSON.stringify(body ?? {}, null, 2);
  const bodyField = operation.body
    ? `<p><label for="try-body">Body <span class="type">JSON</span></label><textarea id="try-body" rows="${Math.min(14, text.split("\n").length + 1)}" spellcheck="false" autocapitalize="off">${escapeHtml(text)}</textarea></p>`
    : "";
  return `<section class="try" id="try" aria-labelledby="try-title" hidden>
<h2 id="try-title">Try it</h2>
<p id="try-note">The request is real, and acts on your account. The page keeps the token only until you close this tab. Do not enter a token on a computer that you share.</p>
<form data-method="${operation.method}" data-path="${escapeHtml(operation.path)}" autocomplete="off">
${operation.isPublic ? "" : tokenField}
${fields.join("\n")}
${bodyField}
<p><button type="submit" class="primary">Send ${operation.method}</button> <button type="button" id="try-forget">Forget the token</button></p>
</form>
<div id="try-status" role="status" aria-live="polite"></div>
<div id="try-answer"></div>
</section>`;
}
