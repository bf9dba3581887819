import { defineTool, type Tool } from '@bowline/agent-loop'
import type { Runtime, SessionStore } from '@bowline/sessions'
import { checkHistory, type HistoryReport } from '../explorers/history/check-history.ts'
import { readHistory } from '../explorers/history/read-history.ts'
import { recordHistory } from '../explorers/history/record-history.ts'
import type { History } from '../explorers/history/operations.ts'
import { expect } from 'vitest'
import { z } from 'zod'
import { setup, type SetupOptions } from '../support.ts'

/** Histories of processes that share one order of moments. */
export class RecordedProcesses {
  #moment = 0
  readonly #lines: string[][] = []

  /** Creates a runtime over the store and records it. `around` wraps the store below the recorder. */
  start(
    store: SessionStore,
    { around = (given) => given, ...options }: Omit<SetupOptions, 'store'> & { readonly around?: (store: SessionStore) => SessionStore },
  ): Runtime {
    return this.record(around(store), (recorded) => setup({ ...options, store: recorded }).runtime)
  }

  record(store: SessionStore, make: (store: SessionStore) => Runtime): Runtime {
    const lines: string[] = []
    const recorder = recordHistory({
      process: `process-${this.#lines.push(lines)}`,
      write: (line) => void lines.push(line),
      now: () => ++this.#moment,
    })
    return recorder.runtime(make(recorder.store(store)))
  }

  history(): History {
    return readHistory(this.#lines.map((lines) => lines.join('\n')))
  }
}

/** Expects the history to agree with the model. Throws the text of a problem, so that it is printed unchanged. */
export function accepted(history: History, options: Parameters<typeof checkHistory>[1] = {}): HistoryReport {
  const report = checkHistory(history, options)
  for (const { text } of report.problems) throw new Error(text)
  expect(report.operations).toBeGreaterThan(0)
  return report
}

/** A tool that these runs call at each step. */
export const look: Tool = defineTool({
  name: 'look',
  description: 'Looks.',
  inputSchema: z.object({}),
  effect: 'pure',
  execute: () => 'seen',
})
