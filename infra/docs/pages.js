// Each block of code gets a button that copies it, where the browser lets a page do that.
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => (button.textContent = "Copy"), 2_000);
}

if (navigator.clipboard) {
  for (const pre of document.querySelectorAll("article pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => void copy(pre.textContent.trimEnd(), button));
    const place = document.createElement("div");
    place.className = "copied";
    pre.replaceWith(place);
    place.append(pre, button);
  }
}
