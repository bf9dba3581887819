import type { JournalState } from '../contract/journal.ts'
import { Turn } from '../kernel/turn.ts'
import { ContextEstimate } from '../transcript/estimate.ts'
import { Transcript } from '../transcript/transcript.ts'
import type { RunParts } from './run-parts.ts'

/** The open turn of a conversation, or its next one. Throws `invalid-transcript`. */
export function openTurn(run: RunParts, state: JournalState, runId: string): Turn {
  const { open, turns, messages, compaction, calibration } = state
  const transcript = new Transcript(messages, new ContextEstimate(run.models[0].name, calibration), compaction)
  if (!open) return newTurn(run, transcript, turns + 1, runId || run.ids.next('run'))
  return new Turn(run, run.plugins, { runId: open.runId, number: open.turn, transcript, open })
}

export function newTurn(run: RunParts, transcript: Transcript, number: number, runId: string): Turn {
  return new Turn(run, run.plugins, { runId, number, transcript })
}
