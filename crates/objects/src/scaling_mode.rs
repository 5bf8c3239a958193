//! The user's choices: how decisions act, and whether forecasts may take replicas away.

use evenkeel_units::words;

words! {
    /// The way in which a decision acts on its target.
    #[derive(Default)]
    pub enum ScalingMode {
        /// There are no decisions.
        Off = "off",
        /// It is shown in status, metrics and Events only.
        #[default]
        Recommend = "recommend",
        /// It raises the HPA's `minReplicas`, and the cluster's own HPA scales.
        Floor = "floor",
        /// It sets the replicas of a workload that no HPA scales.
        Direct = "direct",
    }
    accepted: "off, recommend, floor or direct"
}

words! {
    /// The right of a forecast to take replicas away.
    #[derive(Default)]
    pub enum ScaleDown {
        /// No: only the load as it is now may.
        #[default]
        Reactive = "reactive",
        /// Yes, where fewer replicas could carry the upper 95 % bound of the forecast.
        Early = "early",
    }
    accepted: "reactive or early"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_parses_back_and_others_are_told_what_would() {
        for mode in ScalingMode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        for choice in ScaleDown::ALL {
            assert_eq!(choice.as_str().parse(), Ok(choice));
        }
        for other in ["Floor", "on"] {
            let told = other.parse::<ScalingMode>().unwrap_err().to_string();
            let expected =
                format!("{other:?} is not accepted; accepted: off, recommend, floor or direct");
            assert_eq!(told, expected);
        }
        let told = "".parse::<ScaleDown>().unwrap_err().to_string();
        assert_eq!(told, "\"\" is not accepted; accepted: reactive or early");
    }
}
