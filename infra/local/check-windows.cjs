// npm runs this before the start script, whose syntax Windows' own shell cannot read.
if (process.platform === "win32") {
  process.stderr.write(
    "\nThe product runs on Linux and macOS. On Windows, use WSL2, which runs Linux inside Windows:\n\n" +
      "  1. In PowerShell, once:    wsl --install\n" +
      "  2. In the Ubuntu terminal: install Node 20 or newer, and clone the project there, not below /mnt/c\n" +
      "  3. There:                  npm ci && npm start\n\n" +
      "A browser on Windows reaches the product at http://localhost:8080. Packages that were installed on Windows do not run in WSL2.\n\n",
  );
  process.exit(1);
}
