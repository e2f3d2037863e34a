// npm runs this before the start script, whose syntax Windows' own shell cannot read.
if (process.platform === "win32") {
  process.stderr.write(
    "\nThis runs on Linux and macOS. On Windows, use WSL2, which is a Linux beside Windows:\n\n" +
      "  1. In PowerShell, once:    wsl --install\n" +
      "  2. In the Ubuntu terminal: install Node 20 or newer, and clone the project there, not below /mnt/c\n" +
      "  3. There:                  npm ci && npm start\n\n" +
      "Browsers on Windows reach it at http://localhost:8080. Packages that were installed on Windows do not run there.\n\n",
  );
  process.exit(1);
}
