import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'
import type { ToolEnvironment } from './tool-environment.ts'

const days = 120
const delayMs = 900

const winds = ['north', 'north-east', 'east', 'south', 'south-west', 'west'] as const
const notes = [
  'made good way under all plain sail, mended the foresail and dried the lines on deck',
  'hove to for most of the night and pumped every other hour, nobody slept',
  'caught enough fish for two days and salted what was left of it',
  'taught the boy the bowline, who tied it forty times and dropped it once',
] as const

/** Returns a text so long that three calls fill the context. */
export function readLogbook({ pace }: ToolEnvironment) {
  return defineTool({
    name: 'read_logbook',
    label: toolLabel('read_logbook'),
    description: 'Reads one volume of the logbook of the Petrel, whole. There are three.',
    inputSchema: z.object({ volume: z.int().min(1).max(3) }),
    effect: 'pure',
    async execute({ volume }, { abortSignal }) {
      await pace.wait(delayMs, abortSignal)
      const entries = Array.from({ length: days }, (_, day) => {
        const number = volume * 7 + day
        return `Day ${(volume - 1) * days + day + 1}. Wind ${winds[number % winds.length]}, force ${2 + (number % 6)}: ${notes[number % notes.length]}.`
      })
      return { output: { volume, days, entries } }
    },
  })
}
