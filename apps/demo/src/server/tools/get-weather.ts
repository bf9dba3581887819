import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'
import type { ToolEnvironment } from './tool-environment.ts'

interface Weather {
  readonly sky: string
  readonly celsius: number
  readonly delayMs: number
}

const known: Readonly<Record<string, Weather>> = {
  oslo: { sky: 'light snow', celsius: -3, delayMs: 700 },
  lima: { sky: 'sea mist', celsius: 22, delayMs: 3200 },
}

const skies = ['clear sky', 'drifting clouds', 'steady rain', 'fog', 'a good breeze'] as const

/** The weather is invented, and always the same for a city. */
export function getWeather({ pace }: ToolEnvironment) {
  return defineTool({
    name: 'get_weather',
    label: toolLabel('get_weather'),
    description: 'The weather of one city, now. Ask for several cities with several calls in one answer.',
    inputSchema: z.object({ city: z.string().min(1).max(60) }),
    effect: 'pure',
    async execute({ city }, { abortSignal }) {
      const { sky, celsius, delayMs } = known[city.toLowerCase()] ?? imagine(city)
      await pace.wait(delayMs, abortSignal)
      return { output: { city, sky, celsius } }
    },
  })
}

function imagine(city: string): Weather {
  const number = [...city.toLowerCase()].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7)
  return { sky: skies[number % skies.length] ?? skies[0], celsius: (number % 38) - 6, delayMs: 500 + (number % 2500) }
}
