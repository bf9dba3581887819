import { formatDuration, formatTime } from '../parts/duration.ts'
import type { Retry } from './margins.ts'

/** Describes the attempt after the failed one, and its state. */
export function describeNext(retry: Retry): string {
  const { attempt, maxAttempts, delayMs, notBefore, cause, model } = retry
  const name = `Attempt ${attempt} of ${Math.max(attempt, maxAttempts)}${cause === 'fallback' && model ? ` with ${model.modelId}` : ''}`
  switch (retry.state) {
    case 'announced':
      return `${name} starts at ${formatTime(notBefore)}, after ${formatDuration(delayMs)}.`
    case 'under-way':
      return `${name} is under way since ${formatTime(notBefore)}.`
    case 'answered':
      return `${name} answered.`
    case 'failed':
      return `${name} failed too.`
  }
}
