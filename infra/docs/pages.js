// Each block of code gets a button that copies it, if the browser lets a page write to the clipboard.
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
    const wrapper = document.createElement("div");
    wrapper.className = "copied";
    pre.replaceWith(wrapper);
    wrapper.append(pre, button);
  }
}
