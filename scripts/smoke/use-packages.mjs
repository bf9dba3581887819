// Runs inside the empty project: every subpath must load, and must give something.
for (const entry of process.argv.slice(2)) {
  const exported = Object.keys(await import(entry))
  if (exported.length === 0) throw new Error(`${entry} exports nothing`)
}

