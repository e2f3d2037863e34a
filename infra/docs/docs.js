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
