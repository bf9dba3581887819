import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../base/agent-error.ts'
import { makeLoaded } from '../base/loaded.ts'
import type { Diagnostic, Loaded } from '../base/loaded.ts'
import type { Guardrail } from '../contract/guardrail.ts'
import { defineGuardrail, handlerNames } from '../plugins/guardrails/define-guardrail.ts'
import { checkFolders, listFolder, readText } from './files.ts'

/** The folders of guardrail files. If two guardrails have the same name, the one of the earlier folder is used. */
export interface LoadGuardrailsOptions {
  /** Folders in the order of their priority: built-in, user, project. */
  readonly folders: readonly string[]
}

/** The result of a file. A file that stops loading keeps its earlier result. */
interface LoadedFile {
  readonly path: string
  /** Hash of the text that the guardrails came from. */
  readonly version: string
  readonly guardrails: readonly Guardrail[]
  readonly diagnostic?: Diagnostic
}

/**
 * Loads the guardrails that the `.js`, `.mjs` and `.ts` files of the folders export, in the order of folders, file names and
 * exports. If two have the same name, the first is used. Files whose names begin with `_` or a dot are skipped. The files run with
 * all rights of this process. Problems are in `diagnostics`. Throws `AgentError` `invalid-config` if `folders` is not a list of
 * paths.
 */
export async function loadGuardrails(options: LoadGuardrailsOptions): Promise<Loaded<Guardrail>> {
  checkFolders('loadGuardrails', options)
  return loadFrom(options.folders, new Map())
}

async function loadFrom(folders: readonly string[], before: ReadonlyMap<string, LoadedFile>): Promise<Loaded<Guardrail>> {
  const listings = await Promise.all(folders.map((folder) => listFolder(resolve(folder))))
  const modules = listings.flatMap(({ entries }) => entries.filter(isModule))
  const files: LoadedFile[] = []
  // One after the other, so that side effects of loading have a fixed order.
  for (const { path } of modules) files.push(await loadFile(path, before.get(path)))
  const { guardrails, diagnostics } = uniqueGuardrails(files)
  return makeLoaded({
    items: guardrails,
    diagnostics: [...listings.flatMap((listing) => listing.diagnostics), ...diagnostics],
    reload: () => loadFrom(folders, new Map(files.map((file) => [file.path, file]))),
  })
}

function isModule({ name, isFolder }: { readonly name: string; readonly isFolder: boolean }): boolean {
  return !isFolder && /\.(?:m?js|ts)$/.test(name) && !name.endsWith('.d.ts')
}

async function loadFile(path: string, before: LoadedFile | undefined): Promise<LoadedFile> {
  try {
    const version = createHash('sha256')
      .update(await readText(path))
      .digest('base64url')
    if (before?.version === version) return { path, version, guardrails: before.guardrails }
    return { path, version, guardrails: exportedGuardrails(await importFile(path, version)) }
  } catch (error) {
    const { version = '', guardrails = [] } = before ?? {}
    const message = `${messageOf(error)}${guardrails.length > 0 ? '; its earlier guardrails stay in use' : ''}`
    return { path, version, guardrails, diagnostic: { kind: 'file', name: path, message } }
  }
}

/** Imports a file. A process loads each address once: with the version in it, a changed file is loaded again. */
async function importFile(path: string, version: string): Promise<Readonly<Record<string, unknown>>> {
  const url = pathToFileURL(path)
  url.searchParams.set('version', version)
  // Bundlers must leave this alone: the files belong to the operator of the process.
  return (await import(/* webpackIgnore: true */ /* @vite-ignore */ url.href)) as Readonly<Record<string, unknown>>
}

function uniqueGuardrails(files: readonly LoadedFile[]): {
  readonly guardrails: readonly Guardrail[]
  readonly diagnostics: readonly Diagnostic[]
} {
  const winners = new Map<string, { readonly guardrail: Guardrail; readonly path: string }>()
  const diagnostics: Diagnostic[] = []
  for (const { path, guardrails, diagnostic } of files) {
    if (diagnostic) diagnostics.push(diagnostic)
    for (const guardrail of guardrails) {
      const { name } = guardrail
      const winner = winners.get(name)
      if (!winner) winners.set(name, { guardrail, path })
      else
        diagnostics.push({ kind: 'guardrail', name, message: `the one in ${path} is not used: ${winner.path} has one with the same name` })
    }
  }
  return { guardrails: [...winners.values()].map(({ guardrail }) => guardrail), diagnostics }
}

/** Returns the exported guardrails in the order of the exports' names. Throws if a module has none, or an invalid one. */
function exportedGuardrails(module: Readonly<Record<string, unknown>>): readonly Guardrail[] {
  const names = Object.keys(module).sort()
  const found = names.flatMap((name) => {
    const meant = itemsOf(module[name]).filter((item) => name === 'guardrail' || name === 'guardrails' || hasHandler(item))
    return meant.map((item) => defined(name, item))
  })
  if (found.length === 0) throw new Error('it exports no guardrail')
  return found
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [value]
}

/** Returns whether a value has a handler: a module may export other things beside guardrails. */
function hasHandler(value: unknown): boolean {
  return typeof value === 'object' && value !== null && handlerNames.some((name) => name in value)
}

function defined(exportName: string, value: unknown): Guardrail {
  try {
    const guardrail = defineGuardrail(value as Guardrail)
    if (hasHandler(guardrail)) return guardrail
  } catch (error) {
    throw new Error(`its export ${exportName} is not a guardrail: ${messageOf(error)}`, { cause: error })
  }
  throw new Error(`its export ${exportName} is not a guardrail: it has none of ${handlerNames.join(', ')}`)
}
