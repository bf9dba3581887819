/** The cursor before the first event of a log. */
export const logStart = '0'
