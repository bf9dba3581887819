import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const importOrExport = /^(?:import|export) (?!type )(?:[^'\n;]*? from |\{[^}]*\} from )?'([^']+)'/gm

/** Returns the packages that are loaded with this source file. */
export function packagesLoadedWith(file: string): readonly string[] {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const visit = (source: string): void => {
    if (seen.has(source) || source.endsWith('.json')) return
    seen.add(source)
    for (const [, name = ''] of readFileSync(source, 'utf8').matchAll(importOrExport)) {
      if (name.startsWith('.')) visit(resolve(dirname(source), name))
      else packages.add(name)
    }
  }
  visit(file)
  return [...packages]
}
