import { fileURLToPath } from 'node:url'

/** A file of this package that is run as a program: beside the sources, or where the build puts it. */
export function programFile(name: string): string {
  const file = import.meta.url.endsWith('.ts') ? `../${name}.ts` : `./${name}.js`
  return fileURLToPath(new URL(file, import.meta.url))
}
