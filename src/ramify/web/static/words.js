// The words and limits that the page shares with the server: ramify.labels.words and ramify.project.limits say the same.

export const YES = "yes";
export const NO = "no";
export const SKIP = "skip";
export const UNKNOWN = "unknown";
export const UNDO = "undo";
export const DISPUTED = "disputed"; // unknown because people disagree
export const DOUBTED = "doubted"; // known, and a model that did not see it says the opposite

export const STATES = [YES, NO, UNKNOWN]; // what is known of an entry
export const ANSWERS = [YES, NO, SKIP]; // what a person may say of one

export const CANNOT_TELL = "cannot tell"; // why somebody skips for good: this question,
export const BROKEN = "broken"; // or all about the item
export const FLAGS = [CANNOT_TELL, BROKEN];

export const GROUP = "group"; // one item, all open children of one concept
export const SINGLE = "single"; // one item, one concept
export const GRID = "grid"; // several items, one concept
export const MODES = [GROUP, SINGLE, GRID];

export const LONGEST_NAME = 100; // characters of an annotator's name
export const LONGEST_QUERY = 200; // characters to search for
export const LONGEST_NOTE = 500; // characters of a flag's note
export const MOST_ANSWERS = 2000; // entries answered in one request
export const LONGEST_SCREEN = 3600; // seconds that one screen may have taken
export const LONGEST_PAGE = 200; // items or answers on one page of a list
export const LONGEST_GUIDELINES = 100000; // characters
export const LARGEST_UPLOAD = 33554432; // bytes of a table
