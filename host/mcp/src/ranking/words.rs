//! The English words that the search for operations knows: the ones that say nothing, the ones that
//! ask for an action, and the ones that people use for the same thing.

/// An action that a question asks for, or that an operation does. Several can be meant at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Actions(u8);

impl Actions {
    pub(super) const NONE: Self = Self(0);
    pub(super) const READ: Self = Self(1);
    pub(super) const CREATE: Self = Self(2);
    pub(super) const DELETE: Self = Self(4);
    pub(super) const UPDATE: Self = Self(8);
    pub(super) const SEND: Self = Self(16);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Words of a question that say nothing about the operation.
pub(super) const EMPTY: &str = "
    a about again also am an and any anything are as at back be been being but by can could d did do does done
    everyone everything for from get got had has have he her here hers him his how i if in into is it its just
    kindly let lets like ll m may me might must my need no not now of off on one ones or our out over please re
    really s say she should so some something still t that the their them then there they thing things this to
    under up us ve want wanted wants was we were what when where which who whom whose will with would yet you your";

/// Words before the one that says what is to be done.
pub(super) const POLITE: &str =
    "can could have hello help hey hi i just kindly let me must need ok please s should to us want we would you";

/// Words that begin a question.
pub(super) const OF_QUESTIONS: &str =
    "am any are did do does had has have how is was were what when where which who whom whose why will";

/// Words that ask for an action, if a sentence begins with them.
pub(super) const OF_ACTIONS: &[(Actions, &str)] = &[
    (
        Actions::READ,
        "check compare count display download export fetch find get give grab list look lookup open print pull read
         recap save search see show summarise summarize tell translate view",
    ),
    (
        Actions::CREATE,
        "add append arrange book clone compose copy create draft duplicate enter insert invite log make new open
         organise organize plan put register schedule set start upload write",
    ),
    (
        Actions::DELETE,
        "bin cancel clear delete discard drop empty erase kick purge recycle remove revoke take throw trash unshare wipe",
    ),
    (
        Actions::UPDATE,
        "accept adjust approve archive assign change close correct decline edit extend file fix label mark modify move
         overwrite patch pin postpone promote push reject rename reopen replace reschedule reset resolve set shift star
         switch tag turn update",
    ),
    (
        Actions::SEND,
        "accept announce answer ask comment decline email forward invite mail message notify ping post publish react reply
         respond say send share tell text tweet write",
    ),
];

/// Words that ask for an action and say little about the thing.
pub(super) const GENERAL: &str =
    "check display fetch find get give list look open print read search see show tell view";

/// Words that together mean something else than each of them. `…` stands for up to four words.
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("get rid of", "delete"),
    ("take down", "delete"),
    ("take … off", "remove"),
    ("take … back", "delete"),
    ("throw away", "delete"),
    ("throw out", "delete"),
    ("kick out", "remove member"),
    ("call off", "cancel"),
    ("set up", "create"),
    ("set … up", "create"),
    ("write up", "create"),
    ("sign up", "add"),
    ("put … in", "create"),
    ("look up", "search"),
    ("look for", "search"),
    ("write back", "reply"),
    ("get back to", "reply"),
    ("mark as", "modify"),
    ("turn on", "switch on"),
    ("turn off", "switch off"),
    ("push … to", "reschedule event"),
    ("push … back", "reschedule event"),
    ("let … know", "tell"),
    ("say yes to", "accept"),
    ("say no to", "decline"),
    ("be called", "rename"),
    ("shut down", "end"),
    ("shut … down", "end"),
    ("back and forth", "thread"),
    ("knowledge base", "site"),
    ("swap … for", "replace"),
    ("find … when", "freebusy"),
    ("when … free", "freebusy"),
    ("have i got on", "events"),
    ("do i have on", "events"),
    ("who is coming", "attendees of event"),
    ("who s coming", "attendees of event"),
    ("who is in", "members of"),
    ("who belongs to", "members of"),
    ("who can open", "permissions"),
    ("who can see", "permissions"),
    ("who has access", "permissions"),
    ("works here", "employees"),
    ("work here", "employees"),
    ("video call", "meeting space"),
    ("video link", "meeting space"),
    ("mailing list", "group"),
    ("distribution list", "group"),
    ("thumbs up", "reaction"),
    ("file a bug", "create an issue"),
    ("report a bug", "create an issue"),
    ("report bug", "create an issue"),
    ("save … to", "upload"),
    ("bug report", "issue"),
    ("meeting minutes", "document"),
];

/// Words that people use for the same thing.
pub(super) const SAME_MEANING: &[&str] = &[
    // Actions
    "create new add make insert start open append book put schedule plan",
    "delete remove erase drop trash throw kick recycle bin discard",
    "update edit change modify overwrite replace set patch close fix correct",
    "rename update",
    "send post write say publish tell ask forward",
    "write create update set",
    "get show read fetch view detail look",
    "list all every",
    "search find match lookup about",
    "cancel end stop decline",
    "reply answer respond resolve",
    "reschedule postpone shift delay move update patch",
    "copy duplicate transfer",
    "move transfer shift",
    "accept confirm",
    "draft unsent",
    "download save",
    "invite add member",
    "assign assignee",
    "share sharing link",
    "forgot reset",
    "empty clear wipe",
    "track since incremental",
    "changed change modified",
    "summary summarize digest",
    "total count many number",
    // Messages
    "mail email inbox mailbox",
    "message text ping",
    "chat message conversation dm",
    "channel conversation",
    "thread reply",
    "space room",
    "label tag",
    "attachment attached attach pdf",
    "react reaction emoji like",
    "purpose topic description",
    // Calendars and meetings
    "event meeting appointment invitation lunch dinner call shift coming",
    "meet meeting conference video call webinar lesson class",
    "calendar agenda schedule diary",
    "free busy availability available freebusy schedule slot hour",
    "participant attendee attended joined part",
    "transcript said spoken",
    "recording record watch",
    // Files and documents
    "file item document doc photo picture",
    "folder directory child subfolder",
    "spreadsheet sheet excel",
    "cell range value row",
    "row item",
    "comment remark feedback note",
    "slide deck presentation file",
    "contract invoice document file",
    "essay proposal report minutes document",
    "pdf export format",
    "permission access allowed",
    "site intranet sharepoint",
    // People
    "user person people colleague account profile employee follower",
    "employee staff worker colleague personnel",
    "member people membership belong",
    "group distribution alias",
    "identity userinfo myself",
    // Code
    "issue bug ticket",
    "commit developer code change",
    "pr prs pull",
    "repo repository",
    "readme file content",
    // Papers, posts and prices
    "paper article preprint publication",
    "tweet post x",
    "price pair trading",
    "promoted boost",
    "coin token crypto",
    "profile token",
    "latest recent newest daily",
];
