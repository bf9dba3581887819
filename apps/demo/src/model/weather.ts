import { reasonOf } from './intent.ts'
import type { Intent, Passage, ToolAnswer } from './intent.ts'

const defaultCities = ['Oslo', 'Lima']
const mostCities = 4

export const weather: Intent = {
  name: 'weather',
  keyWords: /\bweather\b/i,
  answer({ text, results }) {
    if (results.length > 0) return [{ type: 'text', text: report(results) }]
    const cities = citiesIn(text)
    return [
      { type: 'text', text: cities.length > 1 ? `I ask for ${both(cities.length)} at once.` : 'Let me look.' },
      ...cities.map((city): Passage => ({ type: 'call', toolName: 'get_weather', input: { city } })),
    ]
  },
}

/** Returns the names after the word "in", as written. */
function citiesIn(text: string): readonly string[] {
  const list = /\bin\s+([^?.!\n]+)/i.exec(text)?.[1] ?? ''
  const names = list
    .split(/,|\band\b|&/i)
    .map((name) => name.trim().slice(0, 60))
    .filter((name) => name !== '')
  return names.length === 0 ? defaultCities : [...new Set(names)].slice(0, mostCities)
}

function both(count: number): string {
  return count === 2 ? 'both' : `all ${count}`
}

function report(results: readonly ToolAnswer[]): string {
  const rows = results.map((result) =>
    isReading(result.value)
      ? `| ${result.value.city} | ${result.value.sky} | ${result.value.celsius} °C |`
      : `| – | no answer | ${reasonOf(result).replaceAll('|', '/')} |`,
  )
  const readings = results.map((result) => result.value).filter(isReading)
  return ['| city | sky | temperature |', '| ---- | --- | ----------- |', ...rows, '', comparison(readings)].join('\n')
}

interface Reading {
  readonly city: string
  readonly sky: string
  readonly celsius: number
}

function isReading(value: unknown): value is Reading {
  return typeof value === 'object' && value !== null && 'city' in value && 'sky' in value && 'celsius' in value
}

function comparison(readings: readonly Reading[]): string {
  const sorted = readings.toSorted((a, b) => b.celsius - a.celsius)
  const warmest = sorted[0]
  const coldest = sorted.at(-1)
  if (!warmest || !coldest) return 'I could not learn the weather this time. Ask again in a moment.'
  if (warmest === coldest) return `That is the weather in ${warmest.city}.`
  const difference = warmest.celsius - coldest.celsius
  if (difference === 0) return 'It is equally warm in all of them.'
  return `**${warmest.city}** is warmer than ${coldest.city} by ${difference} degrees.`
}
