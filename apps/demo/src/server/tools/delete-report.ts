import { rename, rm } from 'node:fs/promises'
import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'
import { bookEffect, isBooked } from '../effects.ts'
import { binFile, exists, reportFile } from '../reports.ts'
import type { ToolEnvironment } from './tool-environment.ts'

const delayMs = 900

/** Records the effect before it deletes: after a crash in between, the next attempt finds its key and finishes. */
export function deleteReport({ pace, clock, dataFolder }: ToolEnvironment) {
  return defineTool({
    name: 'delete_report',
    label: toolLabel('delete_report'),
    description: 'Deletes a report, or moves it to the bin. A person is asked before, who may change the arguments.',
    inputSchema: z.strictObject({
      report: z
        .string()
        .regex(/^[a-z0-9-]{1,40}$/, 'must be the name of a report, such as q3-draft')
        .describe('Name without an ending.'),
      forever: z.boolean().describe('False: it goes to the bin.'),
    }),
    effect: 'idempotent',
    needsApproval: true,
    async execute({ report, forever }, { idempotencyKey, abortSignal }) {
      await pace.wait(delayMs, abortSignal)
      const file = reportFile(dataFolder, report)
      if (!(await isBooked(dataFolder, 'deletions', idempotencyKey))) {
        if (!(await exists(file))) return { output: { report, deleted: false, forever } }
        await bookEffect(dataFolder, 'deletions', { report, forever, at: clock.now(), key: idempotencyKey })
      }
      if (forever) await rm(file, { force: true })
      else if (await exists(file)) await rename(file, binFile(dataFolder, report))
      return { output: { report, deleted: true, forever } }
    },
  })
}
