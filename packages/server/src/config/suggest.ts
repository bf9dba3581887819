import { distance } from 'fastest-levenshtein'

const maxDistance = 3

/** The known name that was probably meant: with at most one mistake in so many characters. */
export function closest(name: string, known: readonly string[], charactersPerMistake = 2): string | undefined {
  const near = known
    .map((candidate) => ({ candidate, away: distance(plain(name), plain(candidate)) }))
    .filter(({ away, candidate }) => away <= Math.min(maxDistance, plain(candidate).length / charactersPerMistake))
  return near.sort((left, right) => left.away - right.away)[0]?.candidate
}

/** What follows a sentence: `; did you mean port?`, or nothing. */
export function suggestion(name: string, known: readonly string[]): string {
  const meant = closest(name, known)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}

/** Cases and separators are what is mistaken most. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}
