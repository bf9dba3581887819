import { fileURLToPath } from 'node:url'

/** Returns the path of a file of this package that is run as a program, in the sources or in the build. */
export function programFile(name: string): string {
  const file = import.meta.url.endsWith('.ts') ? `../${name}.ts` : `./${name}.js`
  return fileURLToPath(new URL(file, import.meta.url))
}
