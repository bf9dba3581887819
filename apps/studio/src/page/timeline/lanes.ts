import type { Span } from './fold.ts'

/** Assigns spans to tracks, so that overlapping spans are next to each other. Each gets the first free track. */
export function assignTracks(spans: readonly Span[]): { readonly tracks: ReadonlyMap<Span, number>; readonly count: number } {
  const freeAt: number[] = []
  const tracks = new Map<Span, number>()
  for (const span of spans) {
    const free = freeAt.findIndex((time) => time <= span.startAt)
    const track = free < 0 ? freeAt.length : free
    freeAt[track] = span.endAt ?? Number.POSITIVE_INFINITY
    tracks.set(span, track)
  }
  return { tracks, count: Math.max(1, freeAt.length) }
}
