import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JSONObject } from '@bowline/llm'
import { isMissing } from './is-missing.ts'

/** Number of times that each effect has happened in this data folder, in all sessions. */
export type Effects = Readonly<Record<'payments' | 'deletions', number>>

/** Files that record external effects of the demo, one line per effect. */
const books: Readonly<Record<keyof Effects, string>> = { payments: 'receipts.jsonl', deletions: 'deletions.jsonl' }

export interface Effect extends JSONObject {
  /** Idempotency key of the call. */
  readonly key: string
  readonly at: number
}

export async function bookEffect(dataFolder: string, kind: keyof Effects, effect: Effect): Promise<void> {
  await appendFile(join(dataFolder, books[kind]), `${JSON.stringify(effect)}\n`)
}

export async function isBooked(dataFolder: string, kind: keyof Effects, key: string): Promise<boolean> {
  const lines = await readBook(dataFolder, kind)
  return lines.some((line) => line.includes(JSON.stringify(key)))
}

/** Counts each effect in all sessions. */
export async function countEffects(dataFolder: string): Promise<Effects> {
  const [payments, deletions] = await Promise.all([readBook(dataFolder, 'payments'), readBook(dataFolder, 'deletions')])
  return { payments: payments.length, deletions: deletions.length }
}

async function readBook(dataFolder: string, kind: keyof Effects): Promise<readonly string[]> {
  try {
    const text = await readFile(join(dataFolder, books[kind]), 'utf8')
    return text.split('\n').filter((line) => line !== '')
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
