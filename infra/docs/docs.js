// The viewer switches to its own dark colours by a class.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

// The viewer keeps a token only for as long as the page is open.
window.SwaggerUIBundle({
  url: "/v1/public/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  filter: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
  validatorUrl: null,
  syntaxHighlight: { activated: true, theme: "nord" },
  requestSnippetsEnabled: true,
});
