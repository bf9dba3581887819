import { join } from 'node:path'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder into which `test-programs.mjs` writes the bundles. */
    readonly programs: string
    /** Value of `NODE_OPTIONS` that resolves `@bowline/…` to the bundles, for a program that starts others. */
    readonly nodeOptions: string
  }
}

/**
 * Flags of Node for a program. `NODE_OPTIONS=--enable-source-maps` adds source lines to errors, but reading the maps takes a third
 * of the start time.
 */
export const nodeFlags = ['--disable-warning=ExperimentalWarning', '--min-semi-space-size=16'] as const

/** Returns the bundle of a source file of the workspace, named by its path in `packages` without extension. */
export function program(name: string): string {
  return join(inject('programs'), `${name}.js`)
}

/** Returns the flags of Node that resolve `@bowline/…` to the bundles, for code that is passed as text. */
export function bundledFlags(): readonly string[] {
  return [...nodeFlags, '--import', join(inject('programs'), 'hook.js')]
}
