import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { JSONObject } from '@bowline/llm'
import { damageOf, withFile } from './file-errors.ts'
import { fileNameOf, isFileName } from './file-names.ts'
import { printLine, scanLines } from './log-line.ts'
import { makeFolder, syncFolder, unfinished, writeWhole } from './whole-file.ts'

interface StoredDefinition {
  readonly hash: string
  readonly body: JSONObject
}

/** Files of definitions, which belong to no session: one per definition, written once, before the first line that refers to it. */
export class DefinitionFiles {
  readonly #folder: string
  readonly #fsync: boolean
  readonly #known = new Map<string, string>()
  readonly #damaged = new Set<string>()

  constructor(folder: string, fsync: boolean) {
    this.#folder = folder
    this.#fsync = fsync
  }

  load(): StoredDefinition[] {
    makeFolder(this.#folder, this.#fsync)
    const names = readdirSync(this.#folder)
    for (const name of names) if (name.endsWith(unfinished)) rmSync(join(this.#folder, name))
    return names.filter(isFileName).flatMap((name) => this.#loadOne(join(this.#folder, name)))
  }

  #loadOne(path: string): StoredDefinition[] {
    const { records, damagedLine } = scanLines(readFileSync(path))
    const [definition] = records as readonly (StoredDefinition | undefined)[]
    if (definition && damagedLine === undefined && this.#pathOf(definition.hash) === path) {
      this.#known.set(definition.hash, path)
      return [definition]
    }
    this.#damaged.add(path)
    return []
  }

  keep(definition: StoredDefinition): void {
    const path = this.#pathOf(definition.hash)
    withFile(path, () => {
      writeWhole(path, [printLine(1, JSON.stringify(definition))], this.#fsync)
      if (this.#fsync) syncFolder(this.#folder)
    })
    this.#known.set(definition.hash, path)
    this.#damaged.delete(path)
  }

  check(hash: string): void {
    const path = this.#pathOf(hash)
    if (this.#damaged.has(path)) throw damageOf(path, 1)
  }

  /** Deletes the files of definitions that are no longer needed. */
  keepOnly(needed: ReadonlyMap<string, unknown>): void {
    for (const [hash, path] of this.#known) {
      if (needed.has(hash)) continue
      withFile(path, () => rmSync(path, { force: true }))
      this.#known.delete(hash)
    }
  }

  #pathOf(hash: string): string {
    return join(this.#folder, fileNameOf(hash))
  }
}
